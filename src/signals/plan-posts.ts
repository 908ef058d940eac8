import { FEEDBACK_LINK_MS, type FeedbackLinks, type LinkAct } from '../accounts/links.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { excerpt } from '../lib/text.ts';
import { createYielder } from '../lib/yielding.ts';
import type { Fault } from '../model/errors.ts';
import type { IcpProfile } from '../model/icp.ts';
import { postNearKeys, scopedNearKeys } from '../model/near-keys.ts';
import { personKeys } from '../model/person-keys.ts';
import {
  type Explanation,
  MAX_EXCERPT_CODE_POINTS,
  type ObservedPost,
  type Signal,
  type SignalType,
} from '../model/signal.ts';
import { searchedFacts } from '../rules/words.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { NewSignal } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { type FanOutTerms, listReceivers, signalEvents } from '../webhooks/fan-out.ts';
import type { SignalStory } from '../webhooks/notice.ts';
import type { PlannedSignal, Reserve } from '../webhooks/signal-commits.ts';
import type { Encoder, Encoding } from './encoder/encoder.ts';
import type { EncoderWork, WorkKind } from './encoder/encoder-queue.ts';
import type { IntakeTally } from './intake-tally.ts';
import {
  type Candidate,
  candidatesOf,
  type Matchers,
  offersOf,
  type ProfileRule,
  type TenantMatcher,
} from './matchers.ts';
import { candidatesInDoubt, readMeaning } from './meaning.ts';
import type { Offer } from './offer.ts';
import { canonicalUrl, originOf } from './origin.ts';
import type { Hit } from './phrases.ts';
import { piecesOf } from './pieces.ts';
import { type CompiledProfile, classify, mayBeWish, type PostReading, readPost, scorePost } from './score.ts';
import { type RoomLease, readFew, roomOfCommit, signalRoom } from './signal-room.ts';
import { advancing } from './signal-times.ts';
import { headlineOf, whereOf, whyOf } from './why.ts';

/** Dependencies of intake. */
export interface IntakeDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  /** For events and deliveries, which are created while later posts are planned; omitted: `newId`. Same as it, repeated by a retried request. */
  newEventId?: NewId;
  baseUrl: string;
  matchers: Matchers;
  /** Creates the links in a message that rate its signal; omitted: messages have no such links. */
  feedbackLinks?: FeedbackLinks | undefined;
  /** Reserves deliveries as they are stored; omitted if this process sends nothing. */
  reserve?: Reserve;
  /** Null or omitted: scores use words only. */
  encoder?: Encoder | null;
  /** Omitted when not measured. */
  intakeTally?: IntakeTally;
  /** Whether work that can be resumed ends between two commits, because the process is stopping. */
  isStopping?: () => boolean;
  /** The trace of the current work, as `joinTrace` formats it; null or omitted if it is not traced. */
  trace?: string | null;
}

/** A post from a source. Its external ID may belong to another post elsewhere on the same platform. */
export type ScopedPost = ObservedPost & {
  /** Distinguishes equal IDs; omitted if the ID is unique on its platform. */
  idScope?: string;
};

/** The ID that identifies a post in the store; null if it has none. */
export function storedIdOf({
  idScope,
  external_id: id = null,
}: {
  idScope?: string | undefined;
  external_id?: string | null | undefined;
}): string | null {
  return idScope && id ? `${idScope} ${id}` : id;
}

interface Tenancy {
  tenantId: string;
  matcher: TenantMatcher;
  receivers: readonly Receiver[];
  rule: MatchRule;
}

/** The signals of a post, ready to be routed and stored; none if it was rejected. */
export interface PlannedPost {
  signals: PlannedSignal[];
  errors: Fault[];
}

/** The profiles that posts are matched with, and whether posts without a match create a signal. */
interface MatchRule {
  /** The profiles to use if they are active; empty: all active profiles. */
  profileIds: readonly string[];
  /** Whether posts that are warm for no profile create no signal. */
  onlyMatching: boolean;
}

export const EVERY_POST: MatchRule = { profileIds: [], onlyMatching: false };

/**
 * Scores posts without storing anything, for changes that store their signals together with other data. `room`, which the caller ends
 * once they are stored, is omitted if nothing is kept, or if the caller's own work has room for the deliveries.
 * @throws DomainError `UNAVAILABLE` if the posts would wait too long for the encoder or for room; posts from sources wait
 */
export async function planPosts(
  { clock, ...rest }: IntakeDeps,
  tenantId: string,
  posts: readonly ScopedPost[],
  rule: MatchRule = EVERY_POST,
  room?: RoomLease,
): Promise<PlannedPost[]> {
  const deps = { ...rest, clock: advancing(clock) };
  const kind = rule.onlyMatching ? 'source' : kindOf(posts);
  const lease = room ?? signalRoom.lease(tenantId, { waits: rule.onlyMatching });
  try {
    return await withEncoding(deps, { owner: tenantId, kind }, async (encoding) => {
      const planned: PlannedPost[][] = [];
      const nextTurn = createYielder(deps.clock);
      let left = posts.length;
      const profiles = rule.profileIds.length || (await deps.matchers.of(tenantId)).profiles.length;
      for (const piece of piecesOf(posts, profiles)) {
        left -= piece.length;
        planned.push(
          await planPiece(deps, tenantId, piece, {
            rule,
            encoding,
            left,
            nextTurn,
            lease,
            isRouted: room !== undefined,
          }),
        );
      }
      return planned.flat();
    });
  } finally {
    if (room === undefined) lease.end();
  }
}

/** Whether a caller waits for one post or for several. */
export function kindOf(posts: readonly unknown[]): WorkKind {
  return posts.length > 1 ? 'batch' : 'single';
}

/** Runs work with the encoder, if there is one, and releases it whether the work succeeds or fails. */
export async function withEncoding<T>(
  { encoder = null }: IntakeDeps,
  work: EncoderWork,
  run: (encoding: Encoding | null) => Promise<T>,
): Promise<T> {
  const encoding = encoder?.begin(work) ?? null;
  try {
    return await run(encoding);
  } finally {
    encoding?.end();
  }
}

/** How a piece is planned; `left` is the number of posts of the same request after it. */
interface PieceTerms {
  rule: MatchRule;
  encoding: Encoding | null;
  left: number;
  /**
   * One yielder for all pieces of a request: a piece with one long post is shorter than a turn, and Node handles the writer's
   * responses in the same turn of the event loop as long as there are any. Without it, a hundred posts took 0.4 s at once.
   */
  nextTurn(): Promise<void>;
  /** Room for the signals, which the caller ends once they are stored. */
  lease: RoomLease;
  /**
   * Whether the caller routes them under the lease. Otherwise it may hold a lock that work with room waits for, and must not wait for room
   * for deliveries itself.
   */
  isRouted: boolean;
}

/** Plans the posts of one piece together. */
export async function planPiece(
  deps: IntakeDeps,
  tenantId: string,
  posts: readonly ScopedPost[],
  { rule, encoding, left, nextTurn, lease, isRouted }: PieceTerms,
): Promise<PlannedPost[]> {
  const [matcher, receivers] = await Promise.all([deps.matchers.of(tenantId), listReceivers(deps, tenantId)]);
  await nextTurn(); // all posts that waited for the same compilation continue here: a hundred took 0.36 s of one turn
  const tenancy: Tenancy = { tenantId, matcher, receivers, rule };
  const read = () => readAll(deps, tenancy, posts, { withEncoder: encoding !== null, nextTurn });
  let readings = await read();
  const candidates = readings.reduce((sum, { candidates }) => sum + candidates.length, 0);
  const ofCommit = isRouted ? roomOfCommit(receivers) : 0;
  if (!lease.tryTake(candidates, ofCommit)) {
    readings = []; // takes as much memory as signals: read again instead of kept
    await lease.take(candidates, ofCommit);
    readings = await read();
  }

  if (encoding !== null) {
    // Assumes the same share of posts in doubt in the rest of the request.
    const inDoubt = readings.filter(({ isInDoubt }) => isInDoubt).length;
    const texts = inDoubt * (1 + left / Math.max(1, posts.length));
    encoding.expect(Math.ceil(texts));
    // All at once, so that the encoder has work while posts are read or stored.
    const asked = { encoder: encoding, nextTurn };
    await Promise.all(
      readings.map(async (read) => {
        if (!read.isInDoubt) return;
        read.words = await readMeaning(read.words, read.offers, asked);
        if (read.words.matches.size > 0)
          read.candidates = await candidatesOf(matcher, read.words, read.hits, read.rule, nextTurn);
      }),
    );
    deps.intakeTally?.countEncoded(inDoubt);
  }

  const planned: PlannedPost[] = [];
  for (const reading of readings) {
    planned.push(await planPost(deps, tenancy, reading, nextTurn));
    await nextTurn();
  }
  return planned;
}

function readAll(
  deps: IntakeDeps,
  tenancy: Tenancy,
  posts: readonly ScopedPost[],
  terms: { withEncoder: boolean; nextTurn(): Promise<void> },
): Promise<PostToScore[]> {
  return readFew(tenancy.tenantId, tenancy.matcher.profiles.length, async () => {
    const readings: PostToScore[] = [];
    for (const post of posts) {
      readings.push(await readOne(deps, tenancy, post, terms));
      await terms.nextTurn();
    }
    return readings;
  });
}

/** A parsed post, and the profiles that it may match. */
interface PostToScore {
  post: ScopedPost;
  words: PostReading;
  rule: ProfileRule;
  hits: ReadonlyMap<number, Hit[]>;
  candidates: readonly Candidate[];
  /** The offers to compare it with. */
  offers: readonly Offer[];
  /** Scores of the signals that it already created. */
  known: ReadonlyMap<CompiledProfile, number>;
  /** Whether its class depends on the encoder, for a profile that has no signal of it yet. */
  isInDoubt: boolean;
}

/** Longer texts are only looked up by ID and URL: comparing one with eight others may take longer than encoding it. */
const MOST_COMPARED_UNITS = 4_000;
/** Maximum number of profiles to look up a post for. If more are in doubt, encoding it is cheaper. */
const MOST_ASKED = 16;

/**
 * Parses a post. Where the encoder would decide, checks first whether the post is already stored, which costs
 * a tenth.
 */
async function readOne(
  deps: IntakeDeps,
  tenancy: Tenancy,
  post: ScopedPost,
  { withEncoder, nextTurn }: { withEncoder: boolean; nextTurn(): Promise<void> },
): Promise<PostToScore> {
  const words = readPost(factsOf(post, deps.clock.now()), withEncoder);
  const hits = tenancy.matcher.match(words.tokens);
  const rule = { profileIds: tenancy.rule.profileIds, wanted: post.icp_profile_id || undefined };
  const candidates = await candidatesOf(tenancy.matcher, words, hits, rule, nextTurn);
  const offers = withEncoder && mayBeWish(words) ? offersOf(tenancy.matcher, rule) : [];
  const most = withEncoder ? MOST_ASKED + 1 : 0;
  const inDoubt = await candidatesInDoubt(words, candidates, { most, nextTurn });
  const sellers = offers.length === 0 ? [] : candidates.filter(({ compiled }) => compiled.offer !== null);
  const doubts = [...new Set([...inDoubt, ...sellers.slice(0, MOST_ASKED)])];
  const known = new Map<CompiledProfile, number>();
  if (doubts.length > 0 && inDoubt.length <= MOST_ASKED) {
    const isShort = post.text.length <= MOST_COMPARED_UNITS;
    const seen: SeenPost = { post, type: words.type, nearKeys: isShort ? postNearKeys(post) : [] };
    // These signals are not stored: they use up no IDs, because a retried request must use the same IDs in
    // the same order.
    const unseen = { ...deps, newId: () => '' };
    const signals: NewSignal[] = [];
    for (const { compiled, hits } of doubts) {
      const score = scorePost(words, compiled, hits);
      signals.push({ ...newSignal(unseen, tenancy, seen, compiled, score), events: [] });
      await nextTurn();
    }
    const found = await deps.store.findDuplicates(signals);
    for (const [place, { compiled }] of doubts.entries()) {
      const duplicate = found[place];
      if (duplicate) known.set(compiled, duplicate.score);
    }
  }
  // A signal of one profile with an offer shows that the post was already compared with all offers.
  const isHeld = sellers.some(({ compiled }) => known.has(compiled));
  const isDoubted = inDoubt.some(
    ({ compiled }) => !known.has(compiled) && !(isHeld && compiled.offer !== null),
  );
  return {
    post,
    words,
    rule,
    hits,
    candidates,
    offers,
    known,
    isInDoubt: isDoubted || (offers.length > 0 && !isHeld),
  };
}

/** `nextTurn` yields when due, because a post may match a thousand profiles. */
async function planPost(
  deps: IntakeDeps,
  tenancy: Tenancy,
  { post, words: reading, candidates, known }: PostToScore,
  nextTurn: () => Promise<void>,
): Promise<PlannedPost> {
  if (candidates.length === 0) {
    const detail = post.icp_profile_id
      ? `There is no profile "${post.icp_profile_id}".`
      : 'No profile is active; activate one or name one here.';
    return { signals: [], errors: [{ pointer: '/icp_profile_id', detail }] };
  }
  const matches: { compiled: CompiledProfile; score: Explanation }[] = [];
  for (const { compiled, hits } of candidates) {
    matches.push({ compiled, score: scorePost(reading, compiled, hits) });
    await nextTurn();
  }
  // An existing signal keeps the score that it was stored with.
  const scoreOf = ({ compiled, score }: (typeof matches)[number]) => known.get(compiled) ?? score.score;
  matches.sort((a, b) => scoreOf(b) - scoreOf(a));
  const needsBest = !tenancy.rule.onlyMatching && known.size === 0;
  const kept = matches.filter(
    ({ compiled, score }, i) =>
      (i === 0 && needsBest) || known.has(compiled) || score.score >= compiled.profile.thresholds.warm,
  );
  const seen: SeenPost = { post, type: reading.type, nearKeys: postNearKeys(post) };
  const signals: PlannedSignal[] = [];
  for (const { compiled, score } of kept) {
    signals.push(newSignal({ ...deps, nextTurn }, tenancy, seen, compiled, score));
    await nextTurn();
  }
  return { signals, errors: [] };
}

/** A post with what all of its signals share. */
interface SeenPost {
  post: ScopedPost;
  type: SignalType;
  nearKeys: readonly number[];
}

function newSignal(
  {
    clock,
    newId,
    newEventId = newId,
    baseUrl,
    feedbackLinks,
    trace = null,
    nextTurn,
  }: IntakeDeps & Pick<FanOutTerms, 'nextTurn'>,
  { tenantId, receivers }: Tenancy,
  { post: { idScope, ...post }, type, nearKeys }: SeenPost,
  { profile }: CompiledProfile,
  score: Explanation,
): PlannedSignal {
  const now = clock.now();
  const signal = buildSignal({ ...post, signal_type: type }, profile, score, {
    id: newId('sig'),
    now,
    baseUrl,
  });
  const story = () =>
    storyOf({ feedbackLinks, tenantId, now }, signal, { text: post.text, explanation: score });
  return {
    id: signal.signal_id,
    tenantId,
    profileId: profile.id,
    platform: signal.platform.name,
    externalId: storedIdOf({ idScope, external_id: signal.external_id }),
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
    route: () =>
      signalEvents(signal, { tenantId, now, newId: newEventId, receivers, trace, story, nextTurn }),
  };
}

/** The texts for a message about a signal: headline, reason, and links that rate it. */
export function storyOf(
  { feedbackLinks, tenantId, now }: Pick<IntakeDeps, 'feedbackLinks'> & { tenantId: string; now: number },
  { signal_id: signalId, signal_type: type, company, prospect, platform }: Signal,
  { text, explanation }: { text: string; explanation: Explanation },
): SignalStory {
  const link = (act: LinkAct) =>
    feedbackLinks?.make({ tenantId, signalId, act, expiresAt: now + FEEDBACK_LINK_MS }) ?? '';
  const acts = [
    ['👍 Relevant', link('relevant')],
    ['👎 Not relevant', link('not_relevant')],
    ['Add to pipeline', link('add')],
  ] as const;
  return {
    headline: headlineOf(text),
    where: whereOf(platform),
    reason: whyOf({ text, type, explanation, company, prospect }).sentence,
    acts: acts.filter(([, url]) => url !== ''),
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

/** Builds the signal of a post for a profile. Unknown facts are empty strings. */
function buildSignal(
  post: ObservedPost,
  profile: IcpProfile,
  score: Explanation,
  at: { id: string; now: number; baseUrl: string },
): Signal {
  const { prospect = {}, company = {}, platform } = post;
  return {
    signal_id: at.id,
    signal_type: post.signal_type ?? 'intent_post',
    classification: classify(score.score, profile.thresholds),
    icp_score: score.score,
    timestamp: toIso(at.now),
    prospect: {
      name: prospect.name ?? '',
      title: prospect.title ?? '',
      email: prospect.email ?? '',
      linkedin_url: prospect.linkedin_url ?? '',
    },
    company: {
      name: company.name ?? '',
      domain: company.domain ?? '',
      industry: company.industry ?? '',
      headcount: String(company.headcount ?? ''),
      location: company.location ?? '',
    },
    platform: {
      name: platform.name,
      post_url: platform.post_url ?? '',
      posted_at: platform.posted_at ? toIso(Date.parse(platform.posted_at)) : '',
    },
    excerpt: excerpt(post.text, MAX_EXCERPT_CODE_POINTS),
    icp_profile_name: profile.name,
    profile_url: `${at.baseUrl}/dashboard/signals/${at.id}`,
    icp_profile_id: profile.id,
    external_id: post.external_id ?? null,
    lead_id: null,
  };
}
