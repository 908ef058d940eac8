import { requireRoom } from '../accounts/room.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { createTurns } from '../lib/turns.ts';
import type { Fault } from '../model/errors.ts';
import type { NewWork } from '../model/event.ts';
import { postNearKeys, scopedNearKeys } from '../model/near-keys.ts';
import { personKeys } from '../model/person-keys.ts';
import type { Explanation, ObservedPost, SignalType } from '../model/signal.ts';
import { searchedFacts } from '../rules/searched-facts.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { NewSignal } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { type Reserve, reserveNothing, storeSignals } from '../webhooks/in-hand.ts';
import { listReceivers } from '../webhooks/receivers.ts';
import { signalEvents } from '../webhooks/signal-events.ts';
import { lanesOf } from '../webhooks/state-changes.ts';
import { candidatesOf } from './candidates.ts';
import { canonicalUrl } from './canonical-url.ts';
import type { Encoder } from './encoder/encoder.ts';
import type { Matchers, TenantMatcher } from './matchers.ts';
import { addMeaning } from './meaning.ts';
import { originOf } from './origin.ts';
import { type CompiledProfile, readPost, scorePost } from './score.ts';
import { buildSignal } from './wire.ts';

/** What intake needs of the process. */
export interface IntakeParts {
  store: Store;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
  matchers: Matchers;
  /** Takes on deliveries as they are stored; left out where this process sends nothing. */
  reserve?: Reserve;
  /** Tells the dispatcher which endpoints have more work, after each commit; left out where this process sends nothing. */
  nudge?(lanes: readonly NewWork[]): void;
  /** Null or left out: words decide alone. */
  encoder?: Encoder | null;
  /** What is being traced as it is made, as `joinTrace` writes it; null or left out: nothing. */
  trace?: string | null;
}

/** What became of one post. `signals` are wire JSON texts. */
export type ObservedResult =
  | { status: 'created' | 'duplicate'; signals: string[]; signalIds: string[] }
  | { status: 'rejected'; errors: Fault[] };

/** A post of a source, whose external id may be another post's elsewhere on its platform. */
export type ScopedPost = ObservedPost & {
  /** What tells the id apart; left out: no other post of the platform has it. */
  idScope?: string;
};

interface Tenancy {
  tenantId: string;
  matcher: TenantMatcher;
  receivers: Receiver[];
  rule: MatchRule;
}

/** What one commit takes of a batch: others' changes wait for it, and a large one would hold them up for half a second. */
const MOST_POSTS_A_COMMIT = 25;
const MOST_CHARS_A_COMMIT = 30_000;

/**
 * Scores posts, and stores their signals with every event and delivery they cause, a post's own in one commit, before it
 * returns. A post makes a signal for each active profile it matches (warm or better), and at least one, its best.
 * @throws DomainError `PLAN_REQUIRED` where the plan has no room for more
 */
export async function observePosts(
  parts: IntakeParts,
  tenantId: string,
  posts: readonly ObservedPost[],
): Promise<ObservedResult[]> {
  await requireRoom(parts, tenantId, 'signals');
  const results: ObservedResult[][] = [];
  // One commit after the other: a keyed request that is run again meets them in the order in which it made them.
  const pieces = piecesOf(posts);
  let planning = planPosts(parts, tenantId, pieces[0] ?? []);
  for (const place of pieces.keys()) {
    const planned = await planning;
    const next = pieces[place + 1];
    if (next !== undefined) {
      planning = planPosts(parts, tenantId, next); // while the one before it is stored
      planning.catch(() => {}); // told when it is its turn, unless the one before it failed
    }
    results.push(await storePlanned(parts, planned));
  }
  return results.flat();
}

/** By what was sent alone, so that a request that is run again is cut where it was cut before. */
function piecesOf(posts: readonly ObservedPost[]): ObservedPost[][] {
  const pieces: ObservedPost[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const post of posts) {
    chars += post.text.length;
    const last = pieces.at(-1);
    if (last !== undefined && last.length < MOST_POSTS_A_COMMIT && chars <= MOST_CHARS_A_COMMIT) {
      last.push(post);
    } else {
      pieces.push([post]);
      chars = post.text.length;
    }
  }
  return pieces;
}

async function storePlanned(parts: IntakeParts, planned: readonly PlannedPost[]): Promise<ObservedResult[]> {
  const signals = planned.flatMap((plan) => plan.signals);
  const { store, reserve = reserveNothing } = parts;
  const { committed, taken } = await storeSignals({ store, reserve }, signals);
  // Not once for the whole batch: the last of a large one is stored seconds later.
  const made = signals.filter((_, i) => committed[i]?.status === 'created');
  parts.nudge?.(made.flatMap((signal) => lanesOf(signal.events, taken)));

  let next = 0;
  return planned.map(({ signals, errors }): ObservedResult => {
    const results = committed.slice(next, next + signals.length);
    next += signals.length;
    if (errors.length > 0) return { status: 'rejected', errors };
    return {
      status: results.some(({ status }) => status === 'created') ? 'created' : 'duplicate',
      signals: results.map((result) => result.wire),
      signalIds: results.map((result) => result.id),
    };
  });
}

/** A post's signals, ready to be stored; none where it was rejected. */
export interface PlannedPost {
  signals: NewSignal[];
  errors: Fault[];
}

/** Which profiles posts are matched with, and what becomes of a post that matches none of them. */
export interface MatchRule {
  /** The profiles that count, those of them that are active; empty: all that are active. */
  profileIds: readonly string[];
  /** A post that no profile finds warm makes no signal. */
  onlyMatching: boolean;
}

const EVERY_POST: MatchRule = { profileIds: [], onlyMatching: false };

/** Scores posts without storing anything: for changes that store their signals together with something else. */
export async function planPosts(
  parts: IntakeParts,
  tenantId: string,
  posts: readonly ScopedPost[],
  rule: MatchRule = EVERY_POST,
): Promise<PlannedPost[]> {
  const [matcher, receivers] = await Promise.all([
    parts.matchers.of(tenantId),
    listReceivers(parts, tenantId),
  ]);
  const tenancy: Tenancy = { tenantId, matcher, receivers, rule };
  const nextTurn = createTurns(parts.clock);
  const planned: PlannedPost[] = [];
  for (const post of posts) {
    planned.push(await planPost(parts, tenancy, post, nextTurn));
    await nextTurn();
  }
  return planned;
}

/** `nextTurn`: a pause where it is due, as a post may match a thousand profiles. */
async function planPost(
  parts: IntakeParts,
  tenancy: Tenancy,
  post: ScopedPost,
  nextTurn: () => Promise<void>,
): Promise<PlannedPost> {
  const wanted = post.icp_profile_id || undefined;
  const { encoder = null } = parts;
  const words = readPost(factsOf(post, parts.clock.now()), encoder !== null);
  const { profileIds } = tenancy.rule;
  const candidates = candidatesOf(tenancy.matcher, words, tenancy.matcher.match(words.tokens), {
    profileIds,
    wanted,
  });
  if (candidates.length === 0) {
    const detail = wanted
      ? `There is no profile "${wanted}".`
      : 'No profile is active; activate one or name one here.';
    return { signals: [], errors: [{ pointer: '/icp_profile_id', detail }] };
  }
  // A source waits for the encoder; who asks over the API hears that it is busy.
  const reading = await addMeaning(words, candidates, { encoder, patient: tenancy.rule.onlyMatching });
  const matches: { compiled: CompiledProfile; score: Explanation }[] = [];
  for (const { compiled, hits } of candidates) {
    matches.push({ compiled, score: scorePost(reading, compiled, hits) });
    await nextTurn();
  }
  matches.sort((a, b) => b.score.score - a.score.score);
  const kept = matches.filter(
    ({ compiled, score }, i) =>
      (i === 0 && !tenancy.rule.onlyMatching) || score.score >= compiled.profile.thresholds.warm,
  );
  const seen: SeenPost = { post, type: reading.type, nearKeys: postNearKeys(post) };
  const signals: NewSignal[] = [];
  for (const { compiled, score } of kept) {
    signals.push(newSignal(parts, tenancy, seen, compiled, score));
    await nextTurn();
  }
  return { signals, errors: [] };
}

/** A post with what all of its signals have in common. */
interface SeenPost {
  post: ScopedPost;
  type: SignalType;
  nearKeys: readonly number[];
}

function newSignal(
  { clock, newId, baseUrl, trace = null }: IntakeParts,
  { tenantId, receivers }: Tenancy,
  { post: { idScope, ...post }, type, nearKeys }: SeenPost,
  { profile }: CompiledProfile,
  score: Explanation,
): NewSignal {
  const now = clock.now();
  const signal = buildSignal({ ...post, signal_type: type }, profile, score, {
    id: newId('sig'),
    now,
    baseUrl,
  });
  return {
    id: signal.signal_id,
    tenantId,
    profileId: profile.id,
    platform: signal.platform.name,
    externalId: idScope && signal.external_id ? `${idScope} ${signal.external_id}` : signal.external_id,
    canonicalUrl: canonicalUrl(signal.platform.post_url),
    signalType: signal.signal_type,
    classification: signal.classification,
    score: signal.icp_score,
    timestamp: now,
    companyDomain: signal.company.domain,
    company: signal.company.domain === '' ? null : { id: newId('cmp'), company: signal.company },
    facts: searchedFacts(signal),
    personKeys: personKeys(signal.prospect),
    nearKeys: scopedNearKeys(nearKeys, { tenantId, profileId: profile.id }),
    wire: JSON.stringify(signal),
    explanation: JSON.stringify(score),
    text: post.text,
    events: signalEvents(signal, { tenantId, now, newId, receivers, trace }),
  };
}

function factsOf(
  { text, signal_type: type, platform, prospect = {}, company = {} }: ObservedPost,
  now: number,
) {
  return {
    text,
    type,
    origin: originOf(prospect, platform),
    ageMs: platform.posted_at ? Math.max(0, now - Date.parse(platform.posted_at)) : null,
    title: prospect.title ?? '',
    companyName: company.name ?? '',
    industry: company.industry ?? '',
    headcount: String(company.headcount ?? ''),
    location: company.location ?? '',
  };
}
