import { isNearText, type NearText, nearKeys, numbersHash, readNearText } from '../../lib/near-text.ts';
import { MAX_ALSO_SEEN, MAX_WIRE_WITH_PLACES } from '../../model/constants.ts';
import { isLongEnough, NEAR_WINDOW_MS, scopedNearKeys } from '../../model/near-keys.ts';
import { compareAuthors } from '../../model/person-keys.ts';
import type { AlsoSeen, Signal } from '../../model/signal.ts';
import type { Asks, Script } from '../script.ts';
import type { NewSignal } from '../signal-store.ts';

/** Identifies a post on a platform. */
type PostIdentity = Pick<NewSignal, 'tenantId' | 'profileId' | 'platform' | 'externalId'>;
type FoundPlace = Pick<NearRow, 'id' | 'wire'> | undefined;

export interface KnownSignalStatements {
  knownSignals: {
    findByExternalId(post: PostIdentity): FoundPlace;
    /** Excludes signals with another external id, if the post has one. */
    findByUrl(post: PostIdentity & { canonicalUrl: string }): FoundPlace;
    /**
     * For each text, signals since then that share keys with it, those with the most shared keys first: from the newest
     * {@link MAX_COMPARED} of each key, at most that many.
     */
    findNear(texts: readonly KeyedText[]): KeySharer[];
    /** In this order; those that no longer exist are left out. */
    selectNear(ids: readonly string[]): NearRow[];
    insertKeys(keys: readonly number[], id: string): void;
    deleteKey(key: number, id: string): void;
    selectText(id: string): { tenantId: string; profileId: string; text: string } | undefined;
    insertPlace(row: Record<string, unknown>): void;
    deletePlaces(id: string): void;
    updateWire(wire: string, id: string): void;
    insertPerson(tenantId: string, key: string, id: string): void;
  };
}

/** A text to compare with those of stored signals. */
export interface KeyedText {
  nearKeys: readonly number[];
  /** In Unix milliseconds. */
  since: number;
  tenantId: string;
  profileId: string;
}

/** A stored signal with the number of keys that it shares with the text at `place`. */
export interface KeySharer {
  place: number;
  id: string;
  keys: number;
}

/** The stored signal of which a new one is a duplicate. */
export interface KnownSignal {
  id: string;
  wire: string;
  /** A cross-post: the same text elsewhere; otherwise the same post. */
  elsewhere: boolean;
}

export interface NearRow {
  id: string;
  wire: string;
  text: string;
  timestamp: number;
}

/**
 * Maximum number of signals to compare, those with the most shared keys first: a form letter may occur a thousand times under one
 * key, and other changes are waiting.
 */
export const MAX_COMPARED = 8;
/** Texts with so many words in total are compared with one: each Chinese character is a word, and 20,000 take 10 ms. */
const MAX_COMPARED_WORDS = 10_000;
/** Recently read texts cached in comparable form: those of a form letter come up again and again, and a post's for each profile. */
const MAX_READ = 32;
/** Texts of which only a hash of the numbers is cached, about a hundred bytes each. */
const MAX_NUMBERED = 4_096;

/**
 * The stored signal for the same post and profile, or null. If both external ids are known, they decide, otherwise the URL; then
 * the text, within 30 days, unless the authors are known to differ.
 */
export type FindKnownSignal = (signal: NewSignal, sharers?: KeySharers) => Script<KnownSignal | null>;

/** Includes the cache of recently read texts: one instance for all changes of a connection. */
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

  return function* (signal, sharers) {
    const place = yield* findPlace(signal);
    if (place !== undefined) return { ...place, elsewhere: false };
    const near = yield* findNear(signal, sharers);
    return near === null ? null : { id: near.id, wire: near.wire, elsewhere: true };
  };
}

/** The signals that share keys with those of one change: looked up together, because each statement is a round trip on PostgreSQL. */
export interface KeySharers {
  /** Those to compare a signal of the change with. */
  of(signal: NewSignal): string[];
  /** To be called for each signal of the change that is stored. */
  add(signal: NewSignal): void;
}

/** Looks up what `signals` share keys with, before any of them is stored. */
export function* findKeySharers(
  ask: Asks<KnownSignalStatements>,
  signals: readonly NewSignal[],
): Script<KeySharers> {
  const keyed = signals.filter(({ nearKeys }) => nearKeys.length > 0);
  const found = keyed.length === 0 ? [] : yield* ask.knownSignals.findNear(keyed.map(toKeyedText));
  const stored = new Map<string, KeySharer[]>();
  for (const sharer of found) {
    const id = keyed[sharer.place]?.id ?? '';
    const own = stored.get(id) ?? [];
    own.push(sharer);
    stored.set(id, own);
  }
  const added: NewSignal[] = [];
  /** Places in `added`, by key. */
  const withKey = new Map<number, number[]>();

  return {
    of({ id, tenantId, profileId, nearKeys }) {
      const shared = new Map<number, number>();
      for (const key of nearKeys) {
        for (const place of withKey.get(key)?.slice(-MAX_COMPARED) ?? [])
          shared.set(place, (shared.get(place) ?? 0) + 1);
      }
      const newest = [...shared].sort(([a], [b]) => b - a);
      const fresh = newest.flatMap(([place, keys]) => {
        const other = added[place];
        const isOwn = other?.tenantId === tenantId && other.profileId === profileId;
        return isOwn ? [{ id: other.id, keys }] : [];
      });
      // Sorting is stable: of those with as many keys, the newest stay first.
      const all = [...fresh, ...(stored.get(id) ?? [])].sort((a, b) => b.keys - a.keys);
      return all.slice(0, MAX_COMPARED).map((each) => each.id);
    },
    add(signal) {
      for (const key of signal.nearKeys) {
        const places = withKey.get(key) ?? [];
        places.push(added.length);
        withKey.set(key, places);
      }
      added.push(signal);
    },
  };
}

function toKeyedText({ nearKeys, tenantId, profileId, wire, timestamp }: NewSignal): KeyedText {
  const since = Math.max(0, timeOf(JSON.parse(wire) as Signal, timestamp) - NEAR_WINDOW_MS);
  return { nearKeys, since, tenantId, profileId };
}

function createNearSearch(
  ask: Asks<KnownSignalStatements>,
): (signal: NewSignal, sharers?: KeySharers) => Script<NearRow | null> {
  const reader = createReader();

  return function* (signal, sharers) {
    if (signal.nearKeys.length === 0) return null;
    const ids = (sharers ?? (yield* findKeySharers(ask, [signal]))).of(signal);
    if (ids.length === 0) return null;
    const mine = JSON.parse(signal.wire) as Signal;
    const text = reader.read(signal.id, signal.text);
    const numbers = numbersHash(text);
    // The next copy of a form letter shares keys with its last eight, whose rows need not be read.
    const left = ids.filter((id) => !reader.hasOtherNumbers(id, numbers));
    // Short texts at once: on PostgreSQL, each statement is a round trip, for which the whole transaction waits.
    const atOnce = text.words.length * left.length <= MAX_COMPARED_WORDS ? left.length : 1;
    for (let words = 0; left.length > 0 && words < MAX_COMPARED_WORDS; ) {
      for (const row of yield* ask.knownSignals.selectNear(left.splice(0, atOnce))) {
        const other = reader.read(row.id, row.text);
        words += other.words.length;
        if (isNearText(text, other) && isSamePost(signal, mine, row)) return row;
      }
    }
    return null;
  };
}

interface NearTextReader {
  /** A signal's text in comparable form. */
  read(id: string, text: string): NearText;
  /** Whether a signal's text is known to have other numbers ({@link numbersHash}). An erased text matches nothing. */
  hasOtherNumbers(id: string, numbers: number): boolean;
}

function createReader(): NearTextReader {
  /** By text. */
  const known = new Map<string, NearText>();
  /** By id. */
  const numbered = new Map<string, number>();
  return {
    read(id, text) {
      const near = known.get(text) ?? readNearText(text);
      known.delete(text);
      known.set(text, near);
      forgetOldest(known, MAX_READ);
      numbered.delete(id);
      numbered.set(id, numbersHash(near));
      forgetOldest(numbered, MAX_NUMBERED);
      return near;
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

/** Whether two signals with near-duplicate texts are of the same post. */
function isSamePost(signal: NewSignal, mine: Signal, row: NearRow): boolean {
  const theirs = JSON.parse(row.wire) as Signal;
  const apart = timeOf(mine, signal.timestamp) - timeOf(theirs, row.timestamp);
  if (Math.abs(apart) > NEAR_WINDOW_MS) return false;
  const authors = compareAuthors(mine.prospect, theirs.prospect);
  return authors === 'same' || (authors === 'unknown' && isLongEnough(signal.text) && isLongEnough(row.text));
}

/** When it was posted; if unknown, when it was detected. */
function timeOf({ platform }: Signal, detectedAt: number): number {
  return platform.posted_at === '' ? detectedAt : Date.parse(platform.posted_at);
}

/** The keys of signals in other tables: part of the changes that store and erase signals. */
export function createKnownSignals(ask: Asks<KnownSignalStatements>) {
  /** Deletes the keys of its text, while the text still exists. */
  function* forgetText(id: string): Script<void> {
    const row = yield* ask.knownSignals.selectText(id);
    for (const key of row === undefined ? [] : scopedNearKeys(nearKeys(row.text), row))
      yield* ask.knownSignals.deleteKey(key, id);
  }

  return {
    /** Adds the keys of a newly stored signal's text. */
    *add({ id, nearKeys }: Pick<NewSignal, 'id' | 'nearKeys'>): Script<void> {
      if (nearKeys.length > 0) yield* ask.knownSignals.insertKeys(nearKeys, id);
    },
    /** Adds a cross-post to `known`; returns its updated JSON. */
    *addPlace({ id, wire }: KnownSignal, seen: NewSignal): Script<string> {
      const signal = JSON.parse(wire) as Signal;
      const places = signal.also_seen ?? [];
      if (places.length >= MAX_ALSO_SEEN || wire.length > MAX_WIRE_WITH_PLACES) return wire;
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
    /** Deletes its keys, while its text still exists. */
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
