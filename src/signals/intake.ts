import { createHash } from 'node:crypto';
import { requireRoom } from '../accounts/plans.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError, type Fault, storageFaultOf } from '../model/errors.ts';
import { JOB_MS, type Job, type JobResult } from '../model/job.ts';
import type { Explanation, ObservedPost, Signal } from '../model/signal.ts';
import { editedSignal } from '../rules/signals.ts';
import type { CommittedSignal, NewSignal, OutdatedSignal, SignalEdit } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { listReceivers, newHotEvents, reserveNothing, storeSignals } from '../webhooks/fan-out.ts';
import type { Encoding } from './encoder/encoder.ts';
import {
  EVERY_POST,
  type IntakeDeps,
  kindOf,
  type PlannedPost,
  piecesOf,
  planPiece,
  planPosts,
  type ScopedPost,
  storedIdOf,
  storyOf,
  type WayIn,
  withEncoding,
} from './plan-posts.ts';

/** What became of one post. `signals` are wire JSON texts. */
export type ObservedResult =
  | {
      status: 'created' | 'duplicate';
      signals: string[];
      signalIds: string[];
      /** Whether stored signals were given the text that the post has now. */
      isUpdated: boolean;
    }
  | { status: 'rejected'; errors: Fault[] };

/** A post may match a thousand profiles: 25 such posts in one commit held the process for 1.3 s. */
const MOST_SIGNALS_A_COMMIT = 250;

/**
 * Scores posts, and stores their signals with every event and delivery they cause, a post's own in one commit, before it
 * returns. A post makes a signal for each active profile it matches (warm or better), and at least one, its best.
 * @throws DomainError `PLAN_REQUIRED` where the plan has no room for more, `UNAVAILABLE` where the posts would wait too long
 * for the encoder: then none is stored
 */
export async function observePosts(
  deps: IntakeDeps,
  tenantId: string,
  posts: readonly ObservedPost[],
): Promise<ObservedResult[]> {
  await requireRoom(deps, tenantId, 'signals');
  return await withEncoding(deps, { owner: tenantId, kind: kindOf(posts) }, (encoding) =>
    observeInPieces(deps, tenantId, posts, encoding),
  );
}

async function observeInPieces(
  deps: IntakeDeps,
  tenantId: string,
  posts: readonly ObservedPost[],
  encoding: Encoding | null,
): Promise<ObservedResult[]> {
  const results: ObservedResult[][] = [];
  // One commit after the other: a keyed request that is run again meets them in the order in which it made them.
  const pieces = piecesOf(posts);
  const nextTurn = createYielder(deps.clock);
  let left = posts.length;
  const plan = (piece: readonly ObservedPost[]) => {
    left -= piece.length;
    return planPiece(deps, tenantId, piece, { rule: EVERY_POST, encoding, left, nextTurn });
  };
  let planning = plan(pieces[0] ?? []);
  for (const place of pieces.keys()) {
    const planned = await planning;
    const next = pieces[place + 1];
    if (next !== undefined) {
      planning = plan(next); // while the one before it is stored
      planning.catch(() => {}); // rethrown in turn, unless the one before it failed
    }
    const via = posts.length > 1 ? 'batch' : 'post';
    for (const part of commitsOf(pieces[place] ?? [], planned)) {
      results.push(await storePlanned(deps, tenantId, { ...part, via }));
    }
  }
  return results.flat();
}

/** Posts that share a commit: each of their signals is copied to the writer, 2 to 4 KB. */
function commitsOf(posts: readonly ObservedPost[], planned: readonly PlannedPost[]) {
  const commits: { posts: ObservedPost[]; planned: PlannedPost[] }[] = [];
  let signals = 0;
  for (const [place, post] of posts.entries()) {
    const plan = planned[place] ?? { signals: [], errors: [] };
    signals += plan.signals.length;
    const last = commits.at(-1);
    if (last !== undefined && signals <= MOST_SIGNALS_A_COMMIT) {
      last.posts.push(post);
      last.planned.push(plan);
    } else {
      commits.push({ posts: [post], planned: [plan] });
      signals = plan.signals.length;
    }
  }
  return commits;
}

async function storePlanned(
  deps: IntakeDeps,
  tenantId: string,
  { posts, planned, via }: { posts: readonly ObservedPost[]; planned: readonly PlannedPost[]; via: WayIn },
): Promise<ObservedResult[]> {
  const signals = planned.flatMap((plan) => plan.signals);
  const { store, reserve = reserveNothing } = deps;
  const committed = await storeSignals({ store, reserve }, signals);
  // Not once for the whole batch: the last of a large one is stored seconds later.
  const made = signals.filter((_, i) => committed[i]?.status === 'created');
  deps.intakeTally?.countSignals(via, made);

  const results = [...committed];
  const stored = planned.map(({ signals }) => results.splice(0, signals.length));
  const edited = await storeEdits(deps, tenantId, editsOf(posts, planned, stored));
  return planned.map(({ errors }, place): ObservedResult => {
    if (errors.length > 0) return { status: 'rejected', errors };
    const own = stored[place] ?? [];
    const wires = new Map(own.map(({ id, wire }) => [id, wire]));
    const edits = edited.filter((edit) => edit.place === place);
    for (const { id, wire } of edits) wires.set(id, wire);
    return {
      status: own.some(({ status }) => status === 'created') ? 'created' : 'duplicate',
      signals: [...wires.values()],
      signalIds: [...wires.keys()],
      isUpdated: edits.length > 0,
    };
  });
}

/** A stored signal whose post has another text by now: the post at `place`, with what was scored of it. */
interface Edit {
  place: number;
  post: ScopedPost;
  scored: readonly NewSignal[];
  outdated: OutdatedSignal;
}

/** What the posts change in signals that are there; of several texts of one post in a batch the last counts. */
function editsOf(
  posts: readonly ObservedPost[],
  planned: readonly PlannedPost[],
  stored: readonly CommittedSignal[][],
): Edit[] {
  const edits = new Map<string, Edit>();
  for (const [place, post] of posts.entries()) {
    for (const { id, outdated = [] } of stored[place] ?? []) {
      edits.delete(id); // its stored text is this post's, unless it is among the outdated
      for (const each of outdated) {
        edits.set(each.id, { place, post, scored: planned[place]?.signals ?? [], outdated: each });
      }
    }
  }
  return [...edits.values()];
}

/** Gives the signals of posts that were stored with another text the one that they have now; the others stay as they are. */
export async function storeEditedPosts(
  deps: IntakeDeps,
  tenantId: string,
  posts: readonly ScopedPost[],
): Promise<void> {
  for (const post of posts) {
    const { platform, external_id: shownId = '', text } = post;
    if (shownId === '') continue;
    const stored = {
      tenantId,
      platform: platform.name,
      shownId,
      externalId: storedIdOf(post) ?? shownId,
      text,
    };
    const outdated = await deps.store.findOutdatedSignals(stored);
    const edits = outdated.map((each): Edit => ({ place: 0, post, scored: [], outdated: each }));
    await storeEdits(deps, tenantId, edits);
  }
}

/**
 * Gives stored signals the text that their post has now, in one commit. A signal's profile may be one that the new text
 * does not match: it is scored for that one, too. One whose profile is active no more stays as it was.
 */
async function storeEdits(
  deps: IntakeDeps,
  tenantId: string,
  edits: readonly Edit[],
): Promise<{ place: number; id: string; wire: string }[]> {
  if (edits.length === 0) return [];
  const { store, clock, newId, trace = null } = deps;
  const receivers = await listReceivers(deps, tenantId);
  const now = clock.now();
  const changes: (SignalEdit & { place: number })[] = [];
  for (const { place, post, scored, outdated } of edits) {
    const { id, profileId } = outdated;
    const edit =
      scored.find((signal) => signal.profileId === profileId) ??
      (await planPosts(deps, tenantId, [{ ...post, icp_profile_id: profileId }]))[0]?.signals[0];
    if (edit === undefined) continue;
    const after = editedSignal(JSON.parse(outdated.wire) as Signal, JSON.parse(edit.wire) as Signal);
    const explained = { text: edit.text, explanation: JSON.parse(edit.explanation) as Explanation };
    const story = () => storyOf({ ...deps, tenantId, now }, { ...after, signal_id: id }, explained);
    const events = newHotEvents(after, { tenantId, now, newId, receivers, trace, story });
    changes.push({ place, now, signal: { ...edit, id, wire: JSON.stringify(after), events } });
  }
  const edited = await store.editSignals(changes.map(({ place: _, ...change }) => change));
  return changes.flatMap(({ place }, i) => {
    const { id, wire, isChanged } = edited[i] ?? { id: '', wire: null, isChanged: false };
    return isChanged && wire !== null ? [{ place, id, wire }] : [];
  });
}

/** How long it is remembered that posts came in: for so long, to go on costs nothing. */
const KEPT_MS = DAY_MS;

export interface KeptIntakeDeps extends IntakeDeps {
  store: Store;
  seededRandom: SeededRandom;
}

/** Posts that come in once, however often they are sent: `route` and `key` stand for them. */
export interface KeptPosts {
  tenantId: string;
  route: string;
  key: string;
  posts: readonly ObservedPost[];
}

/**
 * Takes posts in by the use case of `POST /v1/signals/batch`, under an idempotency key: what came in before is not read
 * again, and what was cut off is run to its end with nothing done twice. Returns what `sumUp` makes of the results, which
 * is kept as JSON; null where another process has them in hand.
 */
export async function observeKept<T>(
  deps: KeptIntakeDeps,
  { tenantId, route, key, posts }: KeptPosts,
  sumUp: (results: ObservedResult[]) => T,
): Promise<T | null> {
  const { store, clock } = deps;
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const request = { tenantId, route, key, fingerprint };
  const now = clock.now();
  const terms = { token: deps.newId('req'), now, expiresAt: now + KEPT_MS };
  const reserved = await store.reserveKey(request, terms);
  if (reserved.state === 'answered') return JSON.parse(reserved.answer.body);
  if (reserved.state !== 'held') return null;
  const { held } = reserved;
  try {
    const runClock = { ...clock, now: () => held.startedAt };
    const newId = createIds(runClock, deps.seededRandom(`${held.seed}/`));
    const run = { ...deps, clock: runClock, newId, store: store.keeping(held) };
    const summary = sumUp(await observePosts(run, tenantId, posts));
    const answer = { status: 200, location: null, body: JSON.stringify(summary) };
    await store.answerKey(request, held.token, answer);
    return summary;
  } catch (error) {
    await store.releaseKey(request, held.token);
    throw error;
  }
}

/** An item of a batch: a post, or why it was rejected. */
export type JobItem = { post: ObservedPost } | { rejected: Pick<JobResult, 'errors' | 'errors_total'> };

/** Jobs of a tenant that wait or run. */
const MOST_OPEN = 20;
/** Posts of one step: about a second with the encoder. */
const STEP_ITEMS = 25;
const AT_ONCE = 20;
const RETRY_SECONDS = 30;

/** Takes a batch on, to be done later. @throws DomainError `RATE_LIMITED` where too many of the tenant's are not done */
export async function createBatchJob(
  { store, clock, newId }: Pick<KeptIntakeDeps, 'store' | 'clock' | 'newId'>,
  tenantId: string,
  items: readonly JobItem[],
): Promise<Job> {
  const job: Job = {
    ...{ id: newId('job'), tenantId, kind: 'signals.batch', status: 'pending' },
    ...{
      total: items.length,
      processed: 0,
      createdAt: clock.now(),
      finishedAt: null,
      error: null,
      results: [],
    },
  };
  if (await store.createJob(job, JSON.stringify(items), MOST_OPEN)) return job;
  throw new DomainError('RATE_LIMITED', `${MOST_OPEN} jobs of this account are not done yet.`, {
    hint: 'Wait until one of them is done (GET /v1/jobs/{id}), or send the batch without "Prefer: respond-async".',
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** A job as it is shown. */
export function jobResource(job: Job) {
  const count = (status: JobResult['status']) => job.results.filter((each) => each.status === status).length;
  return {
    ...{ id: job.id, kind: job.kind, status: job.status, total: job.total, processed: job.processed },
    ...{ created: count('created'), duplicates: count('duplicate'), rejected: count('rejected') },
    ...{ results: job.results, error: job.error, created_at: toIso(job.createdAt) },
    finished_at: job.finishedAt === null ? null : toIso(job.finishedAt),
    expires_at: toIso(job.createdAt + JOB_MS),
  };
}

/** Does all that waits, a step of each tenant's oldest job in turn. Cut off anywhere, it goes on with nothing done twice. */
export async function runJobs(deps: KeptIntakeDeps, isStopping: () => boolean = () => false): Promise<void> {
  let isAnyDone = true;
  while (isAnyDone) {
    isAnyDone = false;
    for (const job of await deps.store.listOpenJobs(AT_ONCE)) {
      if (isStopping()) return;
      if (await step(deps, job)) isAnyDone = true;
    }
  }
}

/** One step of a job; false where it could not be done now. */
async function step(deps: KeptIntakeDeps, { id, tenantId, processed, total }: Job): Promise<boolean> {
  const text = await deps.store.readJobItems(id);
  if (text === null) return false;
  const items = (JSON.parse(text) as JobItem[]).slice(processed, processed + STEP_ITEMS);
  const posts = items.flatMap((item) => ('post' in item ? [item.post] : []));
  try {
    const kept = { tenantId, route: 'job', key: `${id}/${processed}`, posts };
    const observed = await observeKept(deps, kept, (results) => results.map(withoutWires));
    if (observed === null) return false;
    const outcomes = observed.values();
    const results = items.map((item, i): JobResult => {
      const index = processed + i;
      if ('rejected' in item) return { index, status: 'rejected', signal_ids: [], ...item.rejected };
      const outcome = outcomes.next().value;
      if (outcome === undefined) throw new Error('a job came to fewer outcomes than it has posts');
      return resultOf(index, outcome);
    });
    const isLast = processed + items.length >= total;
    const end = isLast ? { status: 'done' as const, error: null, at: deps.clock.now() } : null;
    return await deps.store.advanceJob({ id, processed, results, end });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE' || storageFaultOf(error) !== null)
      throw error;
    const { code, message: detail } = error;
    const end = { status: 'failed' as const, error: { code, detail }, at: deps.clock.now() };
    return await deps.store.advanceJob({ id, processed, results: [], end });
  }
}

type Kept = Exclude<ObservedResult, { status: 'created' | 'duplicate' }> | Omit<Taken, 'signals'>;
type Taken = Extract<ObservedResult, { status: 'created' | 'duplicate' }>;

/** What a job's result is made of: ids, not the signals. */
function withoutWires(result: ObservedResult): Kept {
  if (result.status === 'rejected') return result;
  const { signals: _signals, ...rest } = result;
  return rest;
}

function resultOf(index: number, outcome: Kept): JobResult {
  if (outcome.status === 'rejected') {
    const errors = outcome.errors.map(({ pointer = '', detail }) => ({
      pointer: `/signals/${index}${pointer}`,
      detail,
    }));
    return { index, status: 'rejected', signal_ids: [], errors };
  }
  const { status, isUpdated, signalIds } = outcome;
  return { index, status, ...(isUpdated && { updated: true as const }), signal_ids: signalIds, errors: [] };
}
