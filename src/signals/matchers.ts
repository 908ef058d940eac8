import { addAll } from '../lib/lists.ts';
import { createSharedLimit } from '../lib/queues.ts';
import { createSymbols, type Symbols } from '../lib/symbols.ts';
import { inTurns, shared } from '../lib/yielding.ts';
import type { IcpProfile } from '../model/icp.ts';
import { phraseCount } from '../rules/words.ts';
import type { ProfileStore, StoredLesson } from '../store/profile-store.ts';
import { fitAnswers } from './fit.ts';
import { generalOdds, likenessOdds, offerBias } from './judge.ts';
import type { Offer } from './offer.ts';
import { isEvent, isKnownToFit, ownWayOf } from './own-ways.ts';
import { compilePart, type Hit, matcherOf, type PhraseMatcher, type PhrasePart } from './phrases.ts';
import {
  type CompiledProfile,
  compileProfile,
  generalOddsOf,
  needsNoPhrase,
  type PostReading,
} from './score.ts';

/** Profiles that are adjacent in the store, with one automaton of their phrases. */
interface ProfileGroup {
  profiles: readonly CompiledProfile[];
  phrases: PhrasePart;
}

/** A tenant's profiles, compiled for matching. */
export interface TenantMatcher {
  /** In the order of the store, oldest first; hits refer to profiles by index. */
  profiles: readonly CompiledProfile[];
  match: PhraseMatcher['match'];
  /** Indexes of profiles that a post may match without any of their phrases. */
  open: readonly number[];
  /**
   * Indexes of the other profiles with criteria for author or company: an event may match them without a
   * phrase.
   */
  fitting: readonly number[];
  /** Indexes of profiles with an offer. */
  offering: readonly number[];
  /** Approximately the memory that it takes, in bytes. */
  size: number;
  compiled: Compiled;
}

/** The compiled parts that a later version reuses if they have not changed. */
interface Compiled {
  parts: readonly ProfileGroup[];
  /** Symbols of words that no longer occur in any phrase stay until there are too many. */
  symbols: Symbols;
}

const NOTHING: Compiled = { parts: [], symbols: createSymbols() };

/** A cache of the matchers of tenants. */
export interface Matchers {
  /** Returns the matcher of the profiles as they are stored now. */
  of(tenantId: string): Promise<TenantMatcher>;
}

/**
 * Maximum memory of the matchers of all tenants: five tenants at the limit of the largest plan with phrases of five words, or
 * fifty at that of the next. A number of phrases would not limit it, because a profile can have 300 criteria without any.
 */
const MAX_CACHED_BYTES = 128 * 1024 * 1024;
/** Estimates, without texts and automata: of a profile without terms, of a phrase, of another term, and of a word in phrases. */
const BYTES = { profile: 2_500, phrase: 64, term: 200, word: 80 };

/**
 * Minimum number of phrases per automaton. A single automaton of fifty thousand long phrases took a second to
 * build without yielding, after each change of a profile; a part takes about 20 ms, and unchanged parts are
 * reused.
 */
const LEAST_PART = 2_000;
/**
 * Approximate maximum number of automata per tenant: each post is searched by all of them. With a hundred,
 * 5,000 posts took 2.9 s against 10,000 profiles and 0.5 s against 1,000.
 */
const MOST_PARTS = 16;

/** Doubles with the number of phrases, so that parts seldom change their size. */
function partSize(phrases: number): number {
  let size = LEAST_PART;
  while (size * MOST_PARTS < phrases) size *= 2;
  return size;
}

/** A tenant at the limit of the largest plan has at most half a million different words. */
const MAX_SYMBOLS = 1_000_000;

interface CachedMatcher {
  stamp: string;
  matcher: TenantMatcher;
}

/**
 * Compiles a tenant's profiles on first use and after a change, reusing unchanged parts. The least recently
 * used tenants are evicted first.
 */
export function createMatchers(store: ProfileStore, maxBytes = MAX_CACHED_BYTES): Matchers {
  /** By tenant, the most recently used last. */
  const cache = new Map<string, CachedMatcher>();
  /** Compilations in progress, by tenant. */
  const underWay = new Map<string, { stamp: string; matcher: Promise<TenantMatcher> }>();
  let size = 0;
  /**
   * Large compilations in progress, which take turns. With eight, all of their memory was in use at once: with a thousand profiles of 390
   * terms each, the process took 1.5 GB, and the event loop paused for 0.6 s to collect it. Three take no more than one after the other.
   * With one, the first post of an account waited for those of others: criteria full of ligatures take 4 s.
   */
  const few = createSharedLimit(3);

  function keep(tenantId: string, stamp: string, matcher: TenantMatcher): void {
    size += matcher.size - (cache.get(tenantId)?.matcher.size ?? 0);
    cache.delete(tenantId);
    cache.set(tenantId, { stamp, matcher });
    for (const [id, { matcher: oldest }] of cache) {
      if (size <= maxBytes || id === tenantId) return;
      cache.delete(id);
      size -= oldest.size;
    }
  }

  async function compile(tenantId: string): Promise<TenantMatcher> {
    const [profiles, lessons] = await Promise.all([
      store.listProfiles(tenantId),
      store.listLessons(tenantId),
    ]);
    const before = () => cache.get(tenantId)?.matcher.compiled ?? NOTHING;
    const work = () => inTurns(compileInSteps(profiles, before(), lessons));
    return isLarge(profiles, before()) ? few(tenantId, work) : work();
  }

  return {
    async of(tenantId) {
      // Read before the profiles, so that a change in between is noticed on the next call.
      const stamp = await store.profileStamp(tenantId);
      const known = cache.get(tenantId);
      if (known?.stamp === stamp) {
        keep(tenantId, stamp, known.matcher);
        return known.matcher;
      }
      const running = underWay.get(tenantId);
      if (running?.stamp === stamp) return shared(running.matcher);
      const mine = { stamp, matcher: compile(tenantId) };
      underWay.set(tenantId, mine);
      try {
        const matcher = await shared(mine.matcher);
        if (underWay.get(tenantId) === mine) keep(tenantId, stamp, matcher);
        return matcher;
      } finally {
        if (underWay.get(tenantId) === mine) underWay.delete(tenantId);
      }
    },
  };
}

/** Number of new terms from which a compilation waits for others: they take 30 to 100 ms. */
const LARGE = 10_000;

function isLarge(profiles: readonly IcpProfile[], before: Compiled): boolean {
  const known = new Map(
    before.parts.flatMap((part) => part.profiles.map(({ profile }) => [profile.id, profile.version])),
  );
  const added = profiles.filter(({ id, version }) => known.get(id) !== version);
  return (
    added.reduce((total, each) => total + phraseCount(each) + criteriaOf(each).flat().length, 0) >= LARGE
  );
}

/**
 * Compiles `profiles` in chunks, yielding between them: a thousand with three hundred criteria each take a second. Unchanged profiles are
 * reused from `before`.
 */
export function* compileInSteps(
  profiles: readonly IcpProfile[],
  before: Compiled = NOTHING,
  lessons: readonly StoredLesson[] = [],
): Generator<void, TenantMatcher> {
  const isWorn = before.parts.length === 0 || before.symbols.size > MAX_SYMBOLS;
  const old = isWorn ? [] : before.parts;
  const symbols = isWorn ? createSymbols() : before.symbols;
  const known = new Map(
    before.parts.flatMap((part) =>
      part.profiles.map((one) => [stampOf(one.profile, one.lessonVersion), one]),
    ),
  );
  const oldParts = new Map(old.map((part) => [keyOf(part.profiles), part]));
  const size = partSize(profiles.reduce((total, profile) => total + 1 + phraseCount(profile), 0));
  const parts: ProfileGroup[] = [];
  let waiting: CompiledProfile[] = [];
  let phrases = 0;
  function* close(): Generator<void, boolean> {
    const [profiles, same] = [waiting, oldParts.get(keyOf(waiting))];
    waiting = [];
    phrases = 0;
    if (same !== undefined) {
      parts.push(same);
      return false;
    }
    const texts = profiles.map(({ profile }) => profile);
    parts.push({ profiles, phrases: yield* compilePart(texts, symbols) });
    return true;
  }
  const wasIn = new Map(
    old.flatMap((part, place) => part.profiles.map(({ profile }) => [profile.id, place])),
  );
  let last: number | undefined;
  const lessonOf = new Map(lessons.map((lesson) => [lesson.profileId, lesson]));
  const read = { units: 0 };
  for (const profile of profiles) {
    const lesson = lessonOf.get(profile.id);
    const same = known.get(stampOf(profile, lesson?.version));
    const compiled = same ?? (yield* compileProfile(profile, lesson, read));
    const part = wasIn.get(profile.id);
    // Parts end where they ended before: otherwise one longer profile would shift all that follow.
    const ended = part !== undefined && last !== undefined && part !== last && phrases >= size / 2;
    const isFull = phrases >= size && (part === undefined || part !== last || phrases >= 2 * size);
    if ((ended || isFull) && (yield* close())) yield;
    waiting.push(compiled);
    phrases += 1 + phraseCount(profile);
    last = part;
  }
  if (waiting.length > 0) yield* close();
  return matcherOfParts({ parts, symbols });
}

function criteriaOf({ titles, industries, locations, competitors }: IcpProfile): string[][] {
  return [titles, industries, locations, competitors];
}

function unitsOf(lists: readonly (readonly string[])[]): number {
  return lists.reduce((total, texts) => total + texts.reduce((sum, text) => sum + text.length, 0), 0);
}

function matcherOfParts({ parts, symbols }: Compiled): TenantMatcher {
  const all = parts.flatMap(({ profiles }) => profiles);
  let first = 0;
  const placed = parts.map(({ profiles, phrases }) => {
    const part = { first, part: phrases };
    first += profiles.length;
    return part;
  });
  const { match } = matcherOf(placed, symbols);
  const size =
    symbols.size * BYTES.word +
    parts.reduce((total, { phrases }) => total + phrases.automaton.bytes, 0) +
    all.reduce((total, { profile }) => total + bytesOf(profile), 0);
  const open = [...all.keys()].filter((place) => all[place] && needsNoPhrase(all[place]));
  const isOpen = new Set(open);
  const fitting = [...all.keys()].filter(
    (place) => !isOpen.has(place) && (all[place]?.fit.questions.length ?? 0) > 0,
  );
  const offering = [...all.keys()].filter((place) => all[place]?.offer !== null);
  return { profiles: all, match, open, fitting, offering, size, compiled: { parts, symbols } };
}

function bytesOf(profile: IcpProfile): number {
  const { phrases, excludedPhrases, competitors, titles, industries, locations } = profile;
  const { mutedAuthors, mutedSources, offer, description } = profile;
  const terms = [titles, industries, locations, mutedAuthors, mutedSources];
  const units = unitsOf([...terms, phrases, excludedPhrases, competitors, [offer, description]]);
  const count = terms.reduce((total, { length }) => total + length, 0);
  return BYTES.profile + BYTES.phrase * phraseCount(profile) + BYTES.term * count + 2 * units;
}

function keyOf(profiles: readonly CompiledProfile[]): string {
  return profiles.map(({ profile, lessonVersion }) => stampOf(profile, lessonVersion)).join(' ');
}

function stampOf({ id, version }: IcpProfile, lessonVersion = 0): string {
  return `${id} ${version} ${lessonVersion}`;
}

/** Maximum log-odds that fit and the profile's own phrases add to a match. */
const MOST_BESIDE = 1.5;

/** Maximum number of profiles without a phrase match that are scored to find the best one of a post. */
const MAX_STAND_INS = 16;

/** Selects the profiles that a post may be matched with. */
export interface ProfileRule {
  /** The profiles to use if they are active; empty: all active profiles. */
  profileIds: readonly string[];
  /** The only profile to use, active or not. */
  wanted: string | undefined;
}

/** A profile to score a post with, and where its phrases occur in the post. */
export interface Candidate {
  compiled: CompiledProfile;
  hits: readonly Hit[];
}

/**
 * The profiles to score a post with, oldest first: those whose phrases it contains, those without phrases,
 * those whose criteria match the author or company, and those whose offer it may want. If there are none, the
 * oldest profiles are used, because every submitted post creates a signal; none of these can be warm. The
 * cost depends on the number of profiles only if something is known about author or company, or with offers: comparing
 * with a profile's criteria takes up to 0.1 ms.
 */
export async function candidatesOf(
  { profiles, open, fitting, offering }: TenantMatcher,
  reading: PostReading,
  hits: ReadonlyMap<number, Hit[]>,
  rule: ProfileRule,
  nextTurn: () => Promise<void>,
): Promise<Candidate[]> {
  const counts = countsUnder(rule);
  const at = (place: number): Candidate[] => {
    const compiled = profiles[place];
    return compiled && counts(compiled) ? [{ compiled, hits: hits.get(place) ?? [] }] : [];
  };
  const onTopic = [...hits].filter(([, found]) => found.some(({ kind }) => kind !== 'excluded'));
  const mayFit = isEvent(reading) || reading.facts.isKnown;
  const suited: number[] = [];
  for (const place of mayFit ? fitting : []) {
    if (at(place).some(isFor(reading))) suited.push(place);
    await nextTurn();
  }
  const matched =
    reading.matches.size === 0 ? [] : offering.filter((place) => at(place).some(mayWant(reading)));
  const places = new Set([...open, ...suited, ...matched, ...onTopic.map(([place]) => place)]);
  const matching = [...places].sort((a, b) => a - b).flatMap(at);
  return matching.length > 0 ? matching : standIns(profiles.length, at);
}

function isFor(reading: PostReading): (candidate: Candidate) => boolean {
  return ({ compiled, hits }) => {
    const answers = fitAnswers(reading.facts, compiled.fit);
    return (
      isKnownToFit(answers) || ownWayOf(reading, { titles: compiled.profile.titles, hits, answers }) !== null
    );
  };
}

/**
 * Whether a signal is possible given the match with the profile's offer, assuming the best case for
 * everything else.
 */
function mayWant(reading: PostReading): (candidate: Candidate) => boolean {
  const general = generalOdds(generalOddsOf(reading));
  return ({ compiled: { offer } }) => {
    const match = offer === null ? undefined : reading.matches.get(offer);
    if (match === undefined) return false;
    const likeness = likenessOdds(match);
    const own = { hot: likeness.hot, warm: likeness.warm + MOST_BESIDE };
    return general.warm + own.warm + offerBias(general, own).warm + match.learned >= 0;
  };
}

/** The offers of the selected profiles, to compare a post with. */
export function offersOf({ profiles, offering }: TenantMatcher, rule: ProfileRule): Offer[] {
  const counts = countsUnder(rule);
  return offering.flatMap((place) => {
    const compiled = profiles[place];
    return compiled?.offer && counts(compiled) ? [compiled.offer] : [];
  });
}

function standIns(count: number, at: (place: number) => Candidate[]): Candidate[] {
  const found: Candidate[] = [];
  for (let place = 0; place < count && found.length < MAX_STAND_INS; place++) addAll(found, at(place));
  return found;
}

function countsUnder({ profileIds, wanted }: ProfileRule): (compiled: CompiledProfile) => boolean {
  if (wanted !== undefined) return ({ profile }) => profile.id === wanted;
  const ids = new Set(profileIds);
  return ({ profile }) => profile.active && (ids.size === 0 || ids.has(profile.id));
}
