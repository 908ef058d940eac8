import type { Database } from 'better-sqlite3';
import { ofPlatform } from '../reads/signals.ts';
import { createKnownSignals } from './known-signals.ts';
import { createSignalIndex } from './signal-index.ts';

/** Removes a tenant's signals of a platform that have an external id, but for those of leads; how many. */
export function createSignalRemover(db: Database): (tenantId: string, platform: string) => number {
  const select = db
    .prepare<[string, string], string>(
      `${ofPlatform('s.id')} AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)`,
    )
    .pluck();
  const removeFeedback = db.prepare<[string]>('DELETE FROM signal_feedback WHERE signal_id = ?');
  const removePeople = db.prepare<[string]>('DELETE FROM signal_people WHERE signal_id = ?');
  const remove = db.prepare<[string]>('DELETE FROM signals WHERE id = ?');
  const knownSignals = createKnownSignals(db);
  const index = createSignalIndex(db);

  return (tenantId, platform) => {
    const ids = select.all(tenantId, platform);
    for (const id of ids) {
      removeFeedback.run(id);
      removePeople.run(id);
      knownSignals.forget(id);
      index.renew(id, () => remove.run(id));
    }
    return ids.length;
  };
}
