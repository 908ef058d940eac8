import type { Database } from 'better-sqlite3';
import { isNearText, type NearText, numbersHash, readNearText } from '../../../lib/near-text.ts';
import { isLongEnough, NEAR_WINDOW_MS } from '../../../model/near-keys.ts';
import { compareAuthors } from '../../../model/same-author.ts';
import type { Signal } from '../../../model/signal.ts';
import type { NewSignal } from '../../signal-store.ts';

/** The stored signal that a new one is the same post as. */
export interface KnownSignal {
  id: string;
  wire: string;
  /** The same text at another place; else it is the place itself. */
  elsewhere: boolean;
}

interface NearRow {
  id: string;
  wire: string;
  text: string;
  timestamp: number;
}

/**
 * So many signals are compared, of the newest of each key those first that share the most keys; a form letter may stand behind
 * a key a thousand times, and others' changes wait meanwhile.
 */
const MAX_COMPARED = 8;
/** Texts that were read last are kept as they are compared: those of a form letter meet again and again. */
const MAX_READ = 32;
/** Of so many only which numbers stand in them, a hundred bytes each. */
const MAX_NUMBERED = 4_096;

/**
 * The stored signal that is the same post and profile, or null. With both external ids known the id decides, else the
 * address; then the text, within 30 days, unless the authors are known to differ.
 */
export type FindKnownSignal = (signal: NewSignal) => KnownSignal | null;

/** Once for each connection that looks: texts that were read last are kept with it. */
export function createKnownSignal(db: Database): FindKnownSignal {
  const findPlace = createPlaceSearch(db);
  const findNear = createNearSearch(db);

  return (signal) => {
    const place = findPlace(signal);
    if (place !== null) return { ...place, elsewhere: false };
    const near = findNear(signal);
    return near === null ? null : { id: near.id, wire: near.wire, elsewhere: true };
  };
}

function createPlaceSearch(db: Database): (signal: NewSignal) => Pick<NearRow, 'id' | 'wire'> | null {
  const where = 'tenant_id = +:tenantId AND profile_id = +:profileId AND platform = +:platform';
  const find = (condition: string) =>
    db.prepare<Record<string, unknown>[], Pick<NearRow, 'id' | 'wire'>>(
      `SELECT id, wire FROM signals WHERE id = coalesce(
         (SELECT id FROM signals WHERE ${where} AND ${condition} ORDER BY seq LIMIT 1),
         (SELECT signal_id FROM signal_places WHERE ${where} AND ${condition} LIMIT 1))`,
    );
  const byExternalId = find('external_id = +:externalId');
  const byUrl = find('canonical_url = +:canonicalUrl AND (external_id IS NULL OR :externalId IS NULL)');

  return ({ tenantId, profileId, platform, externalId, canonicalUrl }) => {
    const post = { tenantId, profileId, platform, externalId, canonicalUrl };
    return (
      (externalId !== null && byExternalId.get(withoutUrl(post))) ||
      (canonicalUrl !== null && byUrl.get(post)) ||
      null
    );
  };
}

/** better-sqlite3 refuses parameters that a statement does not name. */
function withoutUrl<T extends { canonicalUrl: string | null }>({ canonicalUrl: _, ...rest }: T) {
  return rest;
}

function createNearSearch(db: Database): (signal: NewSignal) => NearRow | null {
  // The casts: numbers are bound as floating point.
  const selectIds = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT s.id
       FROM (SELECT seq, count(*) AS keys FROM (${[0, 1, 2, 3, 4].map(newestOf).join(' UNION ALL ')})
             GROUP BY seq ORDER BY keys DESC, seq DESC LIMIT ${MAX_COMPARED}) n
       CROSS JOIN signals s ON s.seq = n.seq
       WHERE s.tenant_id = +:tenantId AND s.profile_id = +:profileId
       ORDER BY n.keys DESC, n.seq DESC`,
    )
    .pluck();
  const select = db.prepare<[string], NearRow>('SELECT id, wire, text, timestamp FROM signals WHERE id = ?');
  const reader = createReader();

  return (signal) => {
    if (signal.nearKeys.length === 0) return null;
    const { tenantId, profileId } = signal;
    const mine = JSON.parse(signal.wire) as Signal;
    const since = Math.max(0, timeOf(mine, signal.timestamp) - NEAR_WINDOW_MS);
    const [key0, key1, key2, key3, key4] = signal.nearKeys;
    const ids = selectIds.all({ key0, key1, key2, key3, key4, since, tenantId, profileId });
    if (ids.length === 0) return null;
    const text = reader.read(signal.id, signal.text);
    const numbers = numbersHash(text);
    for (const id of ids) {
      // A form letter's next copy meets its last eight: their rows, with all that is known of them, need not be read.
      if (reader.hasOtherNumbers(id, numbers)) continue;
      const row = select.get(id);
      if (
        row !== undefined &&
        isSamePost(signal, mine, row, () => isNearText(text, reader.read(id, row.text)))
      ) {
        return row;
      }
    }
    return null;
  };
}

function newestOf(key: number): string {
  return `SELECT seq FROM (SELECT seq FROM signal_near_keys
    WHERE key = CAST(:key${key} AS INTEGER) AND seq >= CAST(:since AS INTEGER) << 21
    ORDER BY seq DESC LIMIT ${MAX_COMPARED})`;
}

interface Reader {
  /** A signal's text as it is compared. */
  read(id: string, text: string): NearText;
  /** Whether a signal's text is known to have other numbers than these ({@link numbersHash}). Erased since, it is like no other. */
  hasOtherNumbers(id: string, numbers: number): boolean;
}

function createReader(): Reader {
  const known = new Map<string, { text: string; near: NearText }>();
  const numbered = new Map<string, number>();
  return {
    read(id, text) {
      const found = known.get(id);
      known.delete(id);
      // An erased person's signal has another text by now.
      const kept = found?.text === text ? found : { text, near: readNearText(text) };
      known.set(id, kept);
      forgetOldest(known, MAX_READ);
      numbered.delete(id);
      numbered.set(id, numbersHash(kept.near));
      forgetOldest(numbered, MAX_NUMBERED);
      return kept.near;
    },
    hasOtherNumbers: (id, numbers) => (numbered.get(id) ?? numbers) !== numbers,
  };
}

function forgetOldest(known: Map<string, unknown>, most: number): void {
  for (const [oldest] of known) {
    if (known.size <= most) break;
    known.delete(oldest);
  }
}

function isSamePost(signal: NewSignal, mine: Signal, row: NearRow, isNear: () => boolean): boolean {
  if (!isNear()) return false;
  const theirs = JSON.parse(row.wire) as Signal;
  const apart = timeOf(mine, signal.timestamp) - timeOf(theirs, row.timestamp);
  if (Math.abs(apart) > NEAR_WINDOW_MS) return false;
  const authors = compareAuthors(mine.prospect, theirs.prospect);
  return authors === 'same' || (authors === 'unknown' && isLongEnough(signal.text) && isLongEnough(row.text));
}

/** When it was posted; where that is not known, when it was detected. */
function timeOf({ platform }: Signal, detectedAt: number): number {
  return platform.posted_at === '' ? detectedAt : Date.parse(platform.posted_at);
}
