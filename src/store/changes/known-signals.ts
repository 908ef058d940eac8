import { isNearText, type NearText, nearKeys, numbersHash, readNearText } from '../../lib/near-text.ts';
import { MAX_ALSO_SEEN } from '../../model/constants.ts';
import { isLongEnough, NEAR_WINDOW_MS, scopedNearKeys } from '../../model/near-keys.ts';
import { compareAuthors } from '../../model/person-keys.ts';
import type { AlsoSeen, Signal } from '../../model/signal.ts';
import type { Asks, Script } from '../script.ts';
import type { NewSignal } from '../signal-store.ts';

/** Which post it is, at a place. */
type Post = Pick<NewSignal, 'tenantId' | 'profileId' | 'platform' | 'externalId'>;
type FoundPlace = Pick<NearRow, 'id' | 'wire'> | undefined;

export interface KnownSignalStatements {
  knownSignals: {
    findByExternalId(post: Post): FoundPlace;
    /** Not one whose external id is known, where the post's is. */
    findByUrl(post: Post & { canonicalUrl: string }): FoundPlace;
    /**
     * Signals since then that share keys with a text, those first that share the most: of the newest {@link MAX_COMPARED} of
     * each key so many.
     */
    findNear(text: { nearKeys: number[]; since: number; tenantId: string; profileId: string }): string[];
    selectNear(id: string): NearRow | undefined;
    insertKey(key: number, id: string): void;
    deleteKey(key: number, id: string): void;
    selectText(id: string): { tenantId: string; profileId: string; text: string } | undefined;
    insertPlace(row: Record<string, unknown>): void;
    deletePlaces(id: string): void;
    updateWire(wire: string, id: string): void;
    insertPerson(tenantId: string, key: string, id: string): void;
  };
}

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
export const MAX_COMPARED = 8;
/** Texts that were read last are kept as they are compared: those of a form letter meet again and again. */
const MAX_READ = 32;
/** Of so many only which numbers stand in them, a hundred bytes each. */
const MAX_NUMBERED = 4_096;

/**
 * The stored signal that is the same post and profile, or null. With both external ids known the id decides, else the
 * address; then the text, within 30 days, unless the authors are known to differ.
 */
export type FindKnownSignal = (signal: NewSignal) => Script<KnownSignal | null>;

/** Texts that were read last are kept with it: one for all changes of a connection. */
export function createKnownSignalSearch(ask: Asks<KnownSignalStatements>): FindKnownSignal {
  const findNear = createNearSearch(ask);

  function* findPlace({
    tenantId,
    profileId,
    platform,
    externalId,
    canonicalUrl,
  }: NewSignal): Script<FoundPlace> {
    const post = { tenantId, profileId, platform, externalId };
    const byId = externalId === null ? undefined : yield* ask.knownSignals.findByExternalId(post);
    if (byId !== undefined || canonicalUrl === null) return byId;
    return yield* ask.knownSignals.findByUrl({ ...post, canonicalUrl });
  }

  return function* (signal) {
    const place = yield* findPlace(signal);
    if (place !== undefined) return { ...place, elsewhere: false };
    const near = yield* findNear(signal);
    return near === null ? null : { id: near.id, wire: near.wire, elsewhere: true };
  };
}

function createNearSearch(ask: Asks<KnownSignalStatements>): (signal: NewSignal) => Script<NearRow | null> {
  const reader = createReader();

  return function* (signal) {
    if (signal.nearKeys.length === 0) return null;
    const { tenantId, profileId } = signal;
    const mine = JSON.parse(signal.wire) as Signal;
    const since = Math.max(0, timeOf(mine, signal.timestamp) - NEAR_WINDOW_MS);
    const ids = yield* ask.knownSignals.findNear({ nearKeys: signal.nearKeys, since, tenantId, profileId });
    if (ids.length === 0) return null;
    const text = reader.read(signal.id, signal.text);
    const numbers = numbersHash(text);
    for (const id of ids) {
      // A form letter's next copy meets its last eight: their rows, with all that is known of them, need not be read.
      if (reader.hasOtherNumbers(id, numbers)) continue;
      const row = yield* ask.knownSignals.selectNear(id);
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

/** What signals are known again by beside their own columns: part of the changes that store and erase them. */
export function createKnownSignals(ask: Asks<KnownSignalStatements>) {
  /** Takes out what its text is known by, while that is still there. */
  function* forgetText(id: string): Script<void> {
    const row = yield* ask.knownSignals.selectText(id);
    for (const key of row === undefined ? [] : scopedNearKeys(nearKeys(row.text), row))
      yield* ask.knownSignals.deleteKey(key, id);
  }

  return {
    /** Makes a signal that was just stored known by its text. */
    *add({ id, nearKeys }: Pick<NewSignal, 'id' | 'nearKeys'>): Script<void> {
      for (const key of nearKeys) yield* ask.knownSignals.insertKey(key, id);
    },
    /** Keeps where else the post of `known` was seen; answers its JSON as it then is. */
    *addPlace({ id, wire }: KnownSignal, seen: NewSignal): Script<string> {
      const signal = JSON.parse(wire) as Signal;
      const places = signal.also_seen ?? [];
      if (places.length >= MAX_ALSO_SEEN) return wire;
      const { tenantId, profileId, platform, externalId, canonicalUrl } = seen;
      yield* ask.knownSignals.insertPlace({
        signalId: id,
        tenantId,
        profileId,
        platform,
        externalId,
        canonicalUrl,
      });
      // So that it is found when its author is erased.
      for (const key of seen.personKeys) yield* ask.knownSignals.insertPerson(tenantId, key, id);
      const next = JSON.stringify({ ...signal, also_seen: [...places, placeOf(seen)] } satisfies Signal);
      yield* ask.knownSignals.updateWire(next, id);
      return next;
    },
    forgetText,
    /** Takes out what it is known by, while its text is still there. */
    *forget(id: string): Script<void> {
      yield* forgetText(id);
      yield* ask.knownSignals.deletePlaces(id);
    },
  };
}

function placeOf({ wire }: NewSignal): AlsoSeen {
  const { name, post_url, posted_at } = (JSON.parse(wire) as Signal).platform;
  return { platform: name, post_url, posted_at };
}
