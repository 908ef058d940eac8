import type { Database } from 'better-sqlite3';
import { nearKeys } from '../../../lib/near-text.ts';
import { MAX_ALSO_SEEN } from '../../../model/constants.ts';
import { scopedNearKeys } from '../../../model/near-keys.ts';
import type { AlsoSeen, Signal } from '../../../model/signal.ts';
import type { NewSignal } from '../../signal-store.ts';
import type { KnownSignal } from '../reads/known-signals.ts';

/** What signals are known again by beside their own columns: part of the changes that store and erase them. */
export function createKnownSignals(db: Database) {
  const insertKey = db.prepare<[number, string]>(
    'INSERT OR IGNORE INTO signal_near_keys (key, seq) SELECT CAST(? AS INTEGER), seq FROM signals WHERE id = ?',
  );
  const deleteKey = db.prepare<[number, string]>(
    'DELETE FROM signal_near_keys WHERE key = CAST(? AS INTEGER) AND seq = (SELECT seq FROM signals WHERE id = ?)',
  );
  const selectText = db.prepare<[string], { tenantId: string; profileId: string; text: string }>(
    'SELECT tenant_id AS tenantId, profile_id AS profileId, text FROM signals WHERE id = ?',
  );
  const insertPlace = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO signal_places (signal_id, position, tenant_id, profile_id, platform, external_id, canonical_url)
     SELECT :signalId, count(*), :tenantId, :profileId, :platform, :externalId, :canonicalUrl
     FROM signal_places WHERE signal_id = :signalId`,
  );
  const deletePlaces = db.prepare<[string]>('DELETE FROM signal_places WHERE signal_id = ?');
  const updateWire = db.prepare<[string, string]>('UPDATE signals SET wire = ? WHERE id = ?');
  const insertPerson = db.prepare<[string, string, string]>(
    'INSERT OR IGNORE INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)',
  );

  /** Takes out what its text is known by, while that is still there. */
  function forgetText(id: string): void {
    const row = selectText.get(id);
    for (const key of row === undefined ? [] : scopedNearKeys(nearKeys(row.text), row))
      deleteKey.run(key, id);
  }

  return {
    /** Makes a signal that was just stored known by its text. */
    add({ id, nearKeys }: Pick<NewSignal, 'id' | 'nearKeys'>): void {
      for (const key of nearKeys) insertKey.run(key, id);
    },
    /** Keeps where else the post of `known` was seen; answers its JSON as it then is. */
    addPlace({ id, wire }: KnownSignal, seen: NewSignal): string {
      const signal = JSON.parse(wire) as Signal;
      const places = signal.also_seen ?? [];
      if (places.length >= MAX_ALSO_SEEN) return wire;
      const { tenantId, profileId, platform, externalId, canonicalUrl } = seen;
      insertPlace.run({ signalId: id, tenantId, profileId, platform, externalId, canonicalUrl });
      // Whoever posted it there finds it when they are erased.
      for (const key of seen.personKeys) insertPerson.run(tenantId, key, id);
      const next = JSON.stringify({ ...signal, also_seen: [...places, placeOf(seen)] } satisfies Signal);
      updateWire.run(next, id);
      return next;
    },
    forgetText,
    /** Takes out what it is known by, while its text is still there. */
    forget(id: string): void {
      forgetText(id);
      deletePlaces.run(id);
    },
  };
}

function placeOf({ wire }: NewSignal): AlsoSeen {
  const { name, post_url, posted_at } = (JSON.parse(wire) as Signal).platform;
  return { platform: name, post_url, posted_at };
}
