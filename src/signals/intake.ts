import { createHash } from 'node:crypto';
import { requireRoom } from '../accounts/plans.ts';
import { DAY_MS } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { SeededRandom } from '../lib/seeded-random.ts';
import { createYielder } from '../lib/yielding.ts';
import type { Fault } from '../model/errors.ts';
import type { Explanation, ObservedPost, Signal } from '../model/signal.ts';
import { editedSignal } from '../rules/signals.ts';
import type { CommittedSignal, NewSignal, OutdatedSignal, SignalEdit } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { reserveNothing, storeSignals } from '../webhooks/in-hand.ts';
import { listReceivers } from '../webhooks/receivers.ts';
import { newHotEvents } from '../webhooks/signal-events.ts';
import type { Encoding } from './encoder/encoder.ts';
import type { WayIn } from './intake-tally.ts';
import {
  EVERY_POST,
  type IntakeParts,
  kindOf,
  type PlannedPost,
  piecesOf,
  planPiece,
  planPosts,
  type ScopedPost,
  storedIdOf,
  storyOf,
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
  parts: IntakeParts,
  tenantId: string,
  posts: readonly ObservedPost[],
): Promise<ObservedResult[]> {
  await requireRoom(parts, tenantId, 'signals');
  return await withEncoding(parts, { owner: tenantId, kind: kindOf(posts) }, (encoding) =>
    observeInPieces(parts, tenantId, posts, encoding),
  );
}

async function observeInPieces(
  parts: IntakeParts,
  tenantId: string,
  posts: readonly ObservedPost[],
  encoding: Encoding | null,
): Promise<ObservedResult[]> {
  const results: ObservedResult[][] = [];
  // One commit after the other: a keyed request that is run again meets them in the order in which it made them.
  const pieces = piecesOf(posts);
  const nextTurn = createYielder(parts.clock);
  let left = posts.length;
  const plan = (piece: readonly ObservedPost[]) => {
    left -= piece.length;
    return planPiece(parts, tenantId, piece, { rule: EVERY_POST, encoding, left, nextTurn });
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
      results.push(await storePlanned(parts, tenantId, { ...part, via }));
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
  parts: IntakeParts,
  tenantId: string,
  { posts, planned, via }: { posts: readonly ObservedPost[]; planned: readonly PlannedPost[]; via: WayIn },
): Promise<ObservedResult[]> {
  const signals = planned.flatMap((plan) => plan.signals);
  const { store, reserve = reserveNothing } = parts;
  const committed = await storeSignals({ store, reserve }, signals);
  // Not once for the whole batch: the last of a large one is stored seconds later.
  const made = signals.filter((_, i) => committed[i]?.status === 'created');
  parts.intakeTally?.countSignals(via, made);

  const results = [...committed];
  const stored = planned.map(({ signals }) => results.splice(0, signals.length));
  const edited = await storeEdits(parts, tenantId, editsOf(posts, planned, stored));
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
  parts: IntakeParts,
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
    const outdated = await parts.store.findOutdatedSignals(stored);
    const edits = outdated.map((each): Edit => ({ place: 0, post, scored: [], outdated: each }));
    await storeEdits(parts, tenantId, edits);
  }
}

/**
 * Gives stored signals the text that their post has now, in one commit. A signal's profile may be one that the new text
 * does not match: it is scored for that one, too. One whose profile is active no more stays as it was.
 */
async function storeEdits(
  parts: IntakeParts,
  tenantId: string,
  edits: readonly Edit[],
): Promise<{ place: number; id: string; wire: string }[]> {
  if (edits.length === 0) return [];
  const { store, clock, newId, trace = null } = parts;
  const receivers = await listReceivers(parts, tenantId);
  const now = clock.now();
  const changes: (SignalEdit & { place: number })[] = [];
  for (const { place, post, scored, outdated } of edits) {
    const { id, profileId } = outdated;
    const edit =
      scored.find((signal) => signal.profileId === profileId) ??
      (await planPosts(parts, tenantId, [{ ...post, icp_profile_id: profileId }]))[0]?.signals[0];
    if (edit === undefined) continue;
    const after = editedSignal(JSON.parse(outdated.wire) as Signal, JSON.parse(edit.wire) as Signal);
    const explained = { text: edit.text, explanation: JSON.parse(edit.explanation) as Explanation };
    const story = () => storyOf({ ...parts, tenantId, now }, { ...after, signal_id: id }, explained);
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

export interface KeptIntakeParts extends IntakeParts {
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
  parts: KeptIntakeParts,
  { tenantId, route, key, posts }: KeptPosts,
  sumUp: (results: ObservedResult[]) => T,
): Promise<T | null> {
  const { store, clock } = parts;
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const request = { tenantId, route, key, fingerprint };
  const now = clock.now();
  const terms = { token: parts.newId('req'), now, expiresAt: now + KEPT_MS };
  const reserved = await store.reserveKey(request, terms);
  if (reserved.state === 'answered') return JSON.parse(reserved.answer.body);
  if (reserved.state !== 'held') return null;
  const { held } = reserved;
  try {
    const runClock = { ...clock, now: () => held.startedAt };
    const newId = createIds(runClock, parts.seededRandom(`${held.seed}/`));
    const run = { ...parts, clock: runClock, newId, store: store.keeping(held) };
    const summary = sumUp(await observePosts(run, tenantId, posts));
    const answer = { status: 200, location: null, body: JSON.stringify(summary) };
    await store.answerKey(request, held.token, answer);
    return summary;
  } catch (error) {
    await store.releaseKey(request, held.token);
    throw error;
  }
}
