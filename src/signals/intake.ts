import { createHash } from 'node:crypto';
import { requireRoom } from '../accounts/plans.ts';
import { DAY_MS } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { addAll } from '../lib/lists.ts';
import type { SeededRandom } from '../lib/secret-box.ts';
import { createYielder } from '../lib/yielding.ts';
import { DomainError, type Fault, limitBatchTime } from '../model/errors.ts';
import type { Explanation, ObservedPost, Signal } from '../model/signal.ts';
import { editedSignal } from '../rules/signals.ts';
import { MAX_REMOVED_AT_ONCE, searchedLength } from '../store/search-cost.ts';
import type {
  CommittedSignal,
  EditedSignal,
  NewSignal,
  OutdatedSignal,
  SignalEdit,
} from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { listReceivers, newHotEvents } from '../webhooks/fan-out.ts';
import {
  type PlannedSignal,
  reserveNothing,
  routedInCommits,
  storeSignals,
} from '../webhooks/signal-commits.ts';
import type { Encoding } from './encoder/encoder.ts';
import type { WayIn } from './intake-tally.ts';
import { piecesOf } from './pieces.ts';
import {
  EVERY_POST,
  type IntakeDeps,
  kindOf,
  type PlannedPost,
  planPiece,
  planPosts,
  type ScopedPost,
  storedIdOf,
  storyOf,
  withEncoding,
} from './plan-posts.ts';
import { type RoomLease, signalRoom } from './signal-room.ts';
import { advancing } from './signal-times.ts';

/** The result of one post. `signals` are JSON texts; in a batch, there are only their IDs. */
export type ObservedResult =
  | {
      status: 'created' | 'duplicate';
      signals: string[];
      signalIds: string[];
      /** Whether stored signals were updated with the current text of the post. */
      isUpdated: boolean;
    }
  | { status: 'rejected'; errors: Fault[] };

/**
 * Scores posts and stores their signals with all resulting events and deliveries before it returns, each signal
 * with its own in one commit. A post creates a signal for each active profile that it matches (warm or better),
 * and at least one, for the best profile.
 * @throws DomainError `PLAN_REQUIRED` if the plan's quota is used up, `UNAVAILABLE` if the posts would wait
 * too long for the encoder, with nothing stored, or if storing takes too long, with part of them stored
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
  { clock, ...rest }: IntakeDeps,
  tenantId: string,
  posts: readonly ObservedPost[],
  encoding: Encoding | null,
): Promise<ObservedResult[]> {
  const deps = { ...rest, clock: advancing(clock) };
  const results: ObservedResult[][] = [];
  // Commits are sequential: a retried request finds them in the order in which it created them.
  const pieces = piecesOf(posts, (await deps.matchers.of(tenantId)).profiles.length);
  const nextTurn = createYielder(deps.clock);
  const checkTime = limitBatchTime(clock);
  let left = posts.length;
  const leases: RoomLease[] = [];
  const plan = (piece: readonly ObservedPost[]) => {
    left -= piece.length;
    // Refused before anything is stored, or not at all.
    const lease = signalRoom.lease(tenantId, { waits: leases.length > 0 });
    leases.push(lease);
    return planPiece(deps, tenantId, piece, {
      rule: EVERY_POST,
      encoding,
      left,
      nextTurn,
      lease,
      isRouted: true,
    });
  };
  try {
    let planning = plan(pieces[0] ?? []);
    for (const place of pieces.keys()) {
      const planned = await planning;
      const next = pieces[place + 1];
      if (next !== undefined) {
        planning = plan(next); // while the previous piece is stored
        planning.catch(() => {}); // rethrown in turn, unless the previous piece failed
      }
      const via = posts.length > 1 ? 'batch' : 'post';
      results.push(await storePlanned(deps, tenantId, { posts: pieces[place] ?? [], planned, via }));
      leases[place]?.end();
      if (next !== undefined) checkTime();
    }
    return results.flat();
  } finally {
    for (const lease of leases) lease.end();
  }
}

/**
 * Stores the signals of posts, and updates those of edited ones. Requests with the same post take turns: its signals
 * would otherwise end with texts of several, as they are changed in several commits.
 */
async function storePlanned(
  deps: IntakeDeps,
  tenantId: string,
  piece: PlannedPiece,
): Promise<ObservedResult[]> {
  const names = piece.posts.flatMap(({ platform, external_id: id }) =>
    id === undefined ? [] : [nameOf(platform.name, id)],
  );
  return deps.store.inTurn(tenantId, names, (lockOut) => storeInTurn(deps, tenantId, piece, lockOut));
}

interface PlannedPiece {
  posts: readonly ObservedPost[];
  planned: readonly PlannedPost[];
  via: WayIn;
}

/** The name by which requests for the same post take turns. */
function nameOf(platform: string, externalId: string): string {
  return `${platform} ${externalId}`;
}

async function storeInTurn(
  deps: IntakeDeps,
  tenantId: string,
  { posts, planned, via }: PlannedPiece,
  lockOut: () => Promise<boolean>,
): Promise<ObservedResult[]> {
  const { store, reserve = reserveNothing } = deps;
  const committed: CommittedSignal[] = [];
  const all = planned.flatMap(({ signals }) =>
    signals.map(
      (signal, i): PlannedSignal => ({
        ...signal,
        ...(i === signals.length - 1 && { asksForOutdated: true }),
        ...(via === 'batch' && { omitsWire: true }),
      }),
    ),
  );
  for await (const signals of routedInCommits(all)) {
    if (deps.isStopping?.()) throw new DomainError('UNAVAILABLE', 'The server is stopping.');
    const some = await storeSignals({ store, reserve }, signals);
    // Counted per commit, not once per batch: the last signals of a large batch are stored seconds later.
    deps.intakeTally?.countSignals(
      via,
      signals.filter((_, i) => some[i]?.status === 'created'),
    );
    addAll(committed, some);
  }

  const stored = planned.map(({ signals }) => committed.splice(0, signals.length));
  const edits = editsOf(posts, planned, stored);
  const isShared = edits.length > 0 && (await lockOut());
  const edited = await storeEdits(deps, tenantId, edits);
  if (isShared) addAll(edited, await storeMissedEdits(deps, tenantId, edits));
  return planned.map(({ errors }, place): ObservedResult => {
    if (errors.length > 0) return { status: 'rejected', errors };
    const own = stored[place] ?? [];
    const wires = new Map(own.map(({ id, wire }) => [id, wire]));
    const edits = edited.filter((edit) => edit.place === place);
    for (const { id, wire } of edits) wires.set(id, wire);
    return {
      status: own.some(({ status }) => status === 'created') ? 'created' : 'duplicate',
      signals: via === 'batch' ? [] : [...wires.values()],
      signalIds: [...wires.keys()],
      isUpdated: edits.length > 0,
    };
  });
}

/** A stored signal whose post now has a different text, with the post at `place` and its new scores. */
interface Edit {
  place: number;
  post: ScopedPost;
  scored: readonly PlannedSignal[];
  outdated: OutdatedSignal;
}

/**
 * The stored signals that the posts change. If a batch contains several texts of one post, the last one
 * counts.
 */
function editsOf(
  posts: readonly ObservedPost[],
  planned: readonly PlannedPost[],
  stored: readonly CommittedSignal[][],
): Edit[] {
  const edits = new Map<string, Edit>();
  for (const [place, post] of posts.entries()) {
    const own = stored[place] ?? [];
    for (const { id } of own) edits.delete(id); // its stored text is that of this post, unless it is outdated
    for (const outdated of own.at(-1)?.outdated ?? [])
      edits.set(outdated.id, { place, post, scored: planned[place]?.signals ?? [], outdated });
  }
  return [...edits.values()];
}

/**
 * Edits signals that other nodes changed or stored after the edits were listed, while they are locked out. The listed edits come
 * first, because a retried keyed request must repeat the same changes.
 */
async function storeMissedEdits(
  deps: IntakeDeps,
  tenantId: string,
  edits: readonly Edit[],
): Promise<{ place: number; id: string; wire: string }[]> {
  const done = new Set(edits.map(({ outdated }) => outdated.id));
  const missed: Edit[] = [];
  for (const edit of new Map(edits.map((each) => [each.place, each])).values()) {
    const { platform, external_id: externalId, text } = edit.post;
    if (externalId === undefined) continue;
    const stored = { tenantId, platform: platform.name, shownId: externalId, externalId, text };
    for (const outdated of await deps.store.findOutdatedSignals(stored))
      if (!done.has(outdated.id)) missed.push({ ...edit, outdated });
  }
  return storeEdits(deps, tenantId, missed);
}

/** Updates the signals of posts that were stored with a different text; all others stay as they are. */
export async function storeEditedPosts(
  deps: IntakeDeps,
  tenantId: string,
  posts: readonly ScopedPost[],
): Promise<void> {
  const nextTurn = createYielder(deps.clock);
  for (const post of posts) {
    await nextTurn(); // a lookup in SQLite does not yield: two thousand posts took a tenth of a second
    const { platform, external_id: shownId = '', text } = post;
    if (shownId === '') continue;
    const externalId = storedIdOf(post) ?? shownId;
    const stored = { tenantId, platform: platform.name, shownId, externalId, text };
    if ((await deps.store.findOutdatedSignals(stored)).length === 0) continue;
    await deps.store.inTurn(tenantId, [nameOf(platform.name, externalId)], async (lockOut) => {
      await lockOut();
      const outdated = await deps.store.findOutdatedSignals(stored);
      const edits = outdated.map((each): Edit => ({ place: 0, post, scored: [], outdated: each }));
      await storeEdits(deps, tenantId, edits);
    });
  }
}

/** Removing a word from the index takes as long as adding that many. */
const REMOVED = 20;
/** An edit takes the writer more than twice as long as a new signal, besides the words. */
const MOST_EDITS_A_COMMIT = 100;

/**
 * Updates stored signals with the current text of their posts. If a signal's profile does not
 * match the new text, the text is scored for that profile, too. Signals of deleted profiles stay as they
 * are.
 */
async function storeEdits(
  deps: IntakeDeps,
  tenantId: string,
  edits: readonly Edit[],
): Promise<{ place: number; id: string; wire: string }[]> {
  if (edits.length === 0) return [];
  const { store, clock, newId, newEventId = newId, trace = null } = deps;
  const receivers = await listReceivers(deps, tenantId);
  const now = clock.now();
  const nextTurn = createYielder(clock);
  /** Of a signal that the edit makes hot, as it is afterwards. Only these are read: others may be thousands, of 15 KB each. */
  const eventsOf = async (id: string, edit: PlannedSignal) => {
    const { wire = edit.wire } = (await store.getSignal(tenantId, id)) ?? {};
    const after = editedSignal(JSON.parse(wire) as Signal, JSON.parse(edit.wire) as Signal);
    const explained = { text: edit.text, explanation: JSON.parse(edit.explanation) as Explanation };
    const story = () => storyOf({ ...deps, tenantId, now }, { ...after, signal_id: id }, explained);
    return newHotEvents(after, { tenantId, now, newId: newEventId, receivers, trace, story, nextTurn });
  };
  const changes: { place: number; replacedLength: number; signal: PlannedSignal }[] = [];
  for (const { place, post, scored, outdated } of edits) {
    await nextTurn();
    // Zero in what earlier versions stored for interrupted requests.
    const { id, profileId, searchedBytes = 0 } = outdated;
    const edit =
      scored.find((signal) => signal.profileId === profileId) ??
      (await planPosts(deps, tenantId, [{ ...post, icp_profile_id: profileId }]))[0]?.signals[0];
    if (edit === undefined) continue;
    const route = async () => (edit.classification === 'hot' ? eventsOf(id, edit) : []);
    changes.push({ place, replacedLength: searchedBytes, signal: { ...edit, id, route } });
  }
  const indexedOf = (signal: NewSignal, i: number) =>
    searchedLength(signal) + REMOVED * Math.min(changes[i]?.replacedLength ?? 0, MAX_REMOVED_AT_ONCE);
  const commits = routedInCommits(
    changes.map(({ signal }) => signal),
    { most: MOST_EDITS_A_COMMIT, indexedOf },
  );
  const edited: EditedSignal[] = [];
  for await (const signals of commits) {
    const some: SignalEdit[] = [];
    for (const signal of signals) {
      const { replacedLength = 0 } = changes[edited.length + some.length] ?? {};
      some.push({ signal, now, replacedLength });
      const { id, text } = signal;
      if (replacedLength > MAX_REMOVED_AT_ONCE) while (await store.leaveSearch({ id, tenantId, text }));
    }
    addAll(edited, await store.editSignals(some));
  }
  return changes.flatMap(({ place }, i) => {
    const { id, wire, isChanged } = edited[i] ?? { id: '', wire: null, isChanged: false };
    return isChanged && wire !== null ? [{ place, id, wire }] : [];
  });
}

/** How long an intake can be resumed without repeating work. */
const RESUMABLE_MS = DAY_MS;

export interface ResumableIntakeDeps extends IntakeDeps {
  store: Store;
  seededRandom: SeededRandom;
}

/** Posts to take in exactly once, identified by `route` and `key`. */
export interface KeyedPosts {
  tenantId: string;
  route: string;
  key: string;
  posts: readonly ObservedPost[];
}

/**
 * Takes in posts like `POST /v1/signals/batch`, under an idempotency key: completed work is not repeated, and
 * interrupted work is resumed without duplicates. Returns what `sumUp` computes from the results, which is
 * stored as JSON; null if another process is working on them.
 */
export async function observeOnce<T>(
  deps: ResumableIntakeDeps,
  { tenantId, route, key, posts }: KeyedPosts,
  sumUp: (results: ObservedResult[]) => T,
): Promise<T | null> {
  const { store, clock } = deps;
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const request = { tenantId, route, key, fingerprint };
  const now = clock.now();
  const terms = { token: deps.newId('req'), now, expiresAt: now + RESUMABLE_MS };
  const reserved = await store.reserveKey(request, terms);
  if (reserved.state === 'answered') return JSON.parse(reserved.answer.body.toString());
  if (reserved.state !== 'held') return null;
  const { held } = reserved;
  try {
    const runClock = { ...clock, now: () => held.startedAt };
    const newId = createIds(runClock, deps.seededRandom(`${held.seed}/`));
    const newEventId = createIds(runClock, deps.seededRandom(`${held.seed}//events`));
    const run = { ...deps, clock: runClock, newId, newEventId, store: store.keeping(held) };
    const summary = sumUp(await observePosts(run, tenantId, posts));
    const answer = { status: 200, location: null, body: JSON.stringify(summary) };
    await store.answerKey(request, held.token, answer);
    return summary;
  } catch (error) {
    await store.releaseKey(request, held.token);
    throw error;
  }
}
