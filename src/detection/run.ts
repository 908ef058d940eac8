import { requireRoom } from '../accounts/plans.ts';
import { DAY_MS, HOUR_MS } from '../lib/clock.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { createYielder, onBehalfOf } from '../lib/yielding.ts';
import { DomainError, storageFaultOf } from '../model/errors.ts';
import type { NewMail } from '../model/mail.ts';
import { hintFor, type Source, type SourceError, type SourceKind } from '../model/source.ts';
import { storeEditedPosts } from '../signals/intake.ts';
import { type IntakeDeps, planPosts } from '../signals/plan-posts.ts';
import { type RoomLease, signalRoom } from '../signals/signal-room.ts';
import { openSecrets } from '../signals/source-management.ts';
import type { CommittedSignal, NewSignal } from '../store/signal-store.ts';
import type { ClaimedSource, SourceRun } from '../store/source-store.ts';
import { type PlannedSignal, routedInCommits } from '../webhooks/signal-commits.ts';
import type { Documents } from './documents/documents.ts';
import { MAX_PAUSE_MS, orAborted } from './host-gate.ts';
import { advanced, areAllNew, type MarkedItem, markItems, marksOf, partOf, unseen } from './memory.ts';
import type { Pages, Reader, Reading, Sites } from './reader.ts';
import {
  itemKey,
  keyOfMark,
  PutOff,
  SourceFault,
  type SourceItem,
  STOPPED,
  TOO_COSTLY,
  toPosts,
} from './source-item.ts';
import { readJetstream } from './sources/bluesky.ts';
import { readDiscourse } from './sources/discourse.ts';
import { readLemmy, readMastodon } from './sources/fediverse.ts';
import { readFeedSource } from './sources/feeds.ts';
import { readGitHub } from './sources/github.ts';
import { readHackerNews, readHiring } from './sources/hackernews.ts';
import {
  readAshby,
  readGreenhouse,
  readLever,
  readRecruitee,
  readSmartRecruiters,
  readWorkable,
} from './sources/job-boards.ts';
import { readLobsters } from './sources/lobsters.ts';
import { readReddit } from './sources/reddit.ts';
import { readFormD } from './sources/sec-form-d.ts';
import { readStackExchange } from './sources/stack-exchange.ts';
import type { Web } from './web.ts';

/** Maximum delay before a failing source is retried. */
const MAX_BACKOFF_MS = 6 * HOUR_MS;
/**
 * Minimum delay after a document was too costly to parse, also if a run is requested; doubled by each further failure.
 */
const COSTLY_REST_MS = 15 * 60_000;
/** Maximum time that a run reads, well within its lease (`LEASE_MS`). */
export const RUN_LIMIT_MS = 5 * 60_000;
/** Maximum number of new items per run; the next run, soon after, takes the rest. */
export const MAX_ITEMS = 2_000;
const MORE_AFTER_MS = 60_000;
/** How long storing results is retried if it fails, and the interval between attempts. */
const [STORING_LIMIT_MS, STORING_PAUSE_MS] = [5 * 60_000, 1_000];
/**
 * Maximum number of items, and of signals that they may create, before the results are stored. All runs in progress hold their
 * signals, of up to 30 KB each: 32 runs with a thousand each took more than 1 GB.
 */
const [ITEMS_AT_ONCE, PLANNED_AT_ONCE] = [50, 250];
/** Signals per commit, which takes about 5 ms on SQLite, and 50 on PostgreSQL, where fifty took 0.4 s; 20,000 at once took SQLite 7.9 s. */
const SIGNALS_AT_ONCE = 10;

/** Dependencies of a run. */
export interface RunDeps extends IntakeDeps {
  web: Web;
  documents: Documents;
  sites: Sites;
  secretBox: SecretBox;
  log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** What ends a run early. */
export interface RunEnds {
  /** Others wait for the run's slot: the request in progress fails, and items that are not processed yet are left to the next run. */
  giveWay: AbortSignal;
  /** The process is stopping: storing is not retried. */
  stopping: AbortSignal;
}

/**
 * Runs a source once and stores the result: the last signals and the position in one commit, or the error. While the
 * storage fails, storing is retried, because the source may not show the items again; if it keeps failing, everything stays
 * as it was, and the source is due again soon.
 */
export async function runClaimed(deps: RunDeps, claimed: ClaimedSource, ends: RunEnds): Promise<void> {
  const startedAt = deps.clock.now();
  try {
    await finish(
      deps,
      claimed,
      await onBehalfOf(claimed.source.tenantId, () => read(deps, claimed, ends)),
      ends,
    );
  } catch (error) {
    if (!isPassing(error)) {
      const run = failed(deps, claimed, startedAt, error);
      const isStored = await deps.store.finishSourceRun(run).then(
        () => true,
        () => false,
      );
      if (isStored) return;
    }
    await putOff(deps, claimed, deps.clock.now() + MORE_AFTER_MS).catch(() => {});
    throw error;
  }
}

async function finish(
  deps: RunDeps,
  claimed: ClaimedSource,
  run: SourceRun | PutOff | null,
  { stopping }: RunEnds,
): Promise<void> {
  if (run === null || run instanceof PutOff) {
    // Null: the process is stopping, and the source stays due; or the source no longer belongs to this run.
    return untilStored(deps, stopping, () => putOff(deps, claimed, run?.until ?? 0));
  }
  const committed = await untilStored(deps, stopping, () => deps.store.finishSourceRun(run));
  deps.intakeTally?.countSignals('source', newOf(run.signals, committed));
  const fields = { source_id: run.sourceId, items: run.itemsSeen };
  if (run.error === null) deps.log.info(fields, 'source read');
  else deps.log.warn({ ...fields, code: run.error.code }, 'source not read');
}

function putOff({ store }: RunDeps, { source, token }: ClaimedSource, until: number): Promise<void> {
  return store.putOffSource({ sourceId: source.id, token, claimedPollAt: source.nextPollAt }, until);
}

/** Whether a change may succeed if it is retried: the storage or the encoder fails. */
function isPassing(error: unknown): boolean {
  return storageFaultOf(error) !== null || (error instanceof DomainError && error.code === 'UNAVAILABLE');
}

/** Retries a change every second while the storage fails, up to `STORING_LIMIT_MS`. */
async function untilStored<T>(
  { clock }: Pick<RunDeps, 'clock'>,
  stopping: AbortSignal,
  change: () => Promise<T>,
): Promise<T> {
  const until = clock.monotonic() + STORING_LIMIT_MS;
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!isPassing(error) || stopping.aborted || clock.monotonic() >= until) throw error;
    }
    const pause = Promise.withResolvers<void>();
    const timer = clock.after(STORING_PAUSE_MS, pause.resolve);
    await orAborted(pause.promise, stopping).catch(() => timer.cancel());
  }
}

async function read(
  deps: RunDeps,
  claimed: ClaimedSource,
  ends: RunEnds,
): Promise<SourceRun | PutOff | null> {
  const { clock } = deps;
  const { position } = claimed;
  const startedAt = clock.now();
  try {
    const reading = await readInTime(deps, claimed, ends);
    const oldest = oldestOf(claimed.source, startedAt);
    const marks = marksOf(claimed);
    const nextTurn = createYielder(clock);
    const shown = await markItems(reading.items, nextTurn);
    const fresh = unseen(shown, marks, claimed.source).filter(
      ({ item: { postedAt } }) => postedAt === null || postedAt >= oldest,
    );
    const taken = fresh.slice(0, MAX_ITEMS);
    const store = <T>(change: () => Promise<T>) => untilStored(deps, ends.stopping, change);
    const { tenantId } = claimed.source;
    if (taken.length > 0) await store(() => needRoom(deps, tenantId));
    const isKnown = ({ mark }: MarkedItem) => marks.has(keyOfMark(mark));
    const edited = taken.filter(isKnown);
    const added = taken.filter((one) => !isKnown(one));
    // Before the position: if the process ends in between, they are found again.
    const posts = await toPosts(itemsOf(edited), nextTurn);
    await store(() => storeEditedPosts(deps, tenantId, posts));
    const matched = await matchInParts(deps, claimed, itemsOf(added), ends);
    // An edited post may match further profiles.
    const again = matched && (await matchInParts(deps, claimed, itemsOf(edited), ends));
    if (matched === null || again === null) return null;
    const compared = [...added.slice(0, matched.compared), ...edited.slice(0, again.compared)];
    const now = clock.now();
    const { fault = null } = reading;
    const run = fault === null ? runOf(claimed, { startedAt, now }) : failed(deps, claimed, startedAt, fault);
    const cut = compared.length < fresh.length;
    // A source whose items are all new each time would be read again every minute, indefinitely.
    const more = (cut && !areAllNew(shown, marks)) || (reading.more === true && fault === null);
    return {
      ...run,
      nextPollAt: more ? Math.min(run.nextPollAt, now + MORE_AFTER_MS) : run.nextPollAt,
      notBefore: Math.max(run.notBefore, Math.min(reading.notBefore ?? 0, now + MAX_PAUSE_MS)),
      position: cut ? partOf(position, shown, compared) : advanced(position, reading, shown),
      itemsSeen: matched.compared,
      itemsMatched: matched.matched,
      signals: [...matched.signals, ...again.signals],
      signalsAdded: matched.added + again.added,
      quota: reading.quota ?? null,
    };
  } catch (error) {
    if (error instanceof PutOff) return error;
    if (error instanceof SourceFault && error.code === STOPPED) return null;
    if (isPassing(error)) throw error;
    return failed(deps, claimed, startedAt, error);
  }
}

function itemsOf(marked: readonly MarkedItem[]): SourceItem[] {
  return marked.map(({ item }) => item);
}

function oldestOf({ maxAgeDays }: Source, now: number): number {
  return now - maxAgeDays * DAY_MS;
}

/** Reads a source. One deadline covers all of it, whatever the number of pages, hosts and waits. */
export async function readInTime(
  deps: Pick<RunDeps, 'clock' | 'sites' | 'web' | 'documents' | 'secretBox'>,
  { source, position }: Pick<ClaimedSource, 'source' | 'position'>,
  { limitMs = RUN_LIMIT_MS, giveWay = null }: { limitMs?: number; giveWay?: AbortSignal | null } = {},
): Promise<Reading> {
  const { clock, sites } = deps;
  const now = clock.now();
  const known = new Set(position.seen.map(keyOfMark));
  const over = new AbortController();
  const end = (message: string) => over.abort(new SourceFault('timeout', message));
  const timer = clock.after(limitMs, () => end(`The run was cancelled after ${limitMs / 60_000} minutes.`));
  const makeWay = () =>
    end('The host took long to respond, and the run was cancelled because other sources were waiting.');
  giveWay?.addEventListener('abort', makeWay, { once: true });
  if (giveWay?.aborted) makeWay();
  const journey = { owner: source.tenantId, signal: over.signal, asked: 0 };
  const web: Pages = {
    read: (address, options) => deps.web.read(address, options, journey),
    listen: (address, limitMs, take) => deps.web.listen(address, limitMs, take, journey),
    hold: deps.web.hold,
  };
  try {
    return await READERS[source.kind]({
      source,
      position,
      now,
      oldest: oldestOf(source, now),
      web,
      parse: (parser, { body, headers, url }, args) => {
        const document = { body, contentType: headers['content-type'] ?? '', url };
        const parsed = deps.documents.parse(parser, document, args, source.tenantId);
        return orAborted(parsed, over.signal);
      },
      sites,
      secrets: openSecrets(deps, source),
      isNew: (id) => !known.has(itemKey({ id })),
      isOver: () => over.signal.aborted,
    });
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    timer.cancel();
    giveWay?.removeEventListener('abort', makeWay);
  }
}

/**
 * Matches items and stores all signals except the last ones, in small commits, so that a long feed does not
 * block others. Returns null if the source no longer belongs to this run. `compared` is the number of items
 * matched with profiles, all unless it had to give way; `matched` the number that matched, `added` the number of signals
 * stored.
 */
async function matchInParts(
  deps: RunDeps,
  { source, token }: ClaimedSource,
  items: readonly SourceItem[],
  { giveWay, stopping }: RunEnds,
): Promise<{ signals: NewSignal[]; compared: number; matched: number; added: number } | null> {
  let waiting: PlannedSignal[] = [];
  let last: NewSignal[] = [];
  let compared = 0;
  let matched = 0;
  let added = 0;
  // One for all parts: each of them may be shorter than a turn, and nothing is stored for items without a match.
  const nextTurn = createYielder(deps.clock);
  while (compared < items.length && !(compared > 0 && giveWay.aborted)) {
    const part = items.slice(
      compared,
      compared + (await untilStored(deps, stopping, () => itemsAtOnce(deps, source))),
    );
    compared += part.length;
    const room = signalRoom.lease(source.tenantId, { waits: true });
    try {
      for (const signals of await untilStored(deps, stopping, () =>
        match(deps, source, { items: part, nextTurn, room }),
      )) {
        if (signals.length > 0) matched++;
        waiting = waiting.concat(signals);
      }
      last = [];
      for await (const part of routedInCommits(waiting, { most: SIGNALS_AT_ONCE })) {
        const full = last;
        last = part;
        if (full.length === 0) continue;
        const add = () => deps.store.addRunSignals({ sourceId: source.id, token }, full);
        const committed = await untilStored(deps, stopping, add);
        if (committed === null) return null;
        const made = newOf(full, committed);
        added += made.length;
        deps.intakeTally?.countSignals('source', made);
      }
      waiting = last.map(asPlanned);
    } finally {
      room.end();
    }
  }
  return { signals: last, compared, matched, added };
}

const asPlanned = ({ events, ...signal }: NewSignal): PlannedSignal => ({
  ...signal,
  route: async () => events,
});

/** The number of items to match before the results are stored: each may create a signal for each profile. */
async function itemsAtOnce(deps: RunDeps, { tenantId, profileIds }: Source): Promise<number> {
  const profiles = profileIds.length || (await deps.matchers.of(tenantId)).profiles.length;
  return Math.max(1, Math.min(ITEMS_AT_ONCE, Math.floor(PLANNED_AT_ONCE / profiles)));
}

function newOf(signals: readonly NewSignal[], committed: readonly CommittedSignal[] | null): NewSignal[] {
  return signals.filter((_, i) => committed?.[i]?.status === 'created');
}

/** The defaults of every run: the source is due again after its interval. */
function runOf(
  { source, token }: ClaimedSource,
  { startedAt, now }: { startedAt: number; now: number },
): SourceRun {
  return {
    sourceId: source.id,
    token,
    startedAt,
    now,
    claimedPollAt: source.nextPollAt,
    nextPollAt: now + source.intervalSeconds * 1_000,
    notBefore: 0,
    error: null,
    position: null,
    itemsSeen: 0,
    itemsMatched: 0,
    signals: [],
    signalsAdded: 0,
    quota: null,
    mail: null,
  };
}

function failed(
  { clock, log }: RunDeps,
  claimed: ClaimedSource,
  startedAt: number,
  error: unknown,
): SourceRun {
  const now = clock.now();
  const { source } = claimed;
  const known = error instanceof SourceFault;
  if (!known) log.error({ err: error, source_id: source.id }, 'source run failed unexpectedly');
  const shown: SourceError = known
    ? { code: error.code, message: error.message, at: now }
    : {
        code: 'internal',
        message: 'The run failed because of an error on our side. It has been logged.',
        at: now,
      };
  const asked = known ? Math.min(error.retryAt, now + MAX_PAUSE_MS) : 0;
  const notBefore = shown.code === TOO_COSTLY ? now + COSTLY_REST_MS : asked;
  const nextPollAt = Math.max(notBefore, now + backoffMs(source, shown.code));
  const mail = mailOf(source, shown);
  return { ...runOf(claimed, { startedAt, now }), error: shown, notBefore, nextPollAt, mail };
}

/**
 * The mail about a source that has failed for a day. It is sent once: its ID is the same for all runs of one
 * outage.
 */
function mailOf(source: Source, { code, message, at }: SourceError): NewMail | null {
  const { id, tenantId, name, failingSince } = source;
  if (failingSince === null || at - failingSince < DAY_MS) return null;
  const facts = {
    kind: 'source_failing',
    sourceId: id,
    name,
    since: failingSince,
    message,
    hint: hintFor(code),
  } as const;
  return { id: `mail_${id}_${failingSince}`, tenantId, facts, createdAt: at };
}

/** Doubles with each failure, and is never shorter than the interval. */
function backoffMs(source: Pick<Source, 'intervalSeconds' | 'failures'>, code: string): number {
  const { intervalSeconds, failures } = source;
  const interval = Math.max(intervalSeconds * 1_000, code === TOO_COSTLY ? COSTLY_REST_MS : 0);
  return Math.max(interval, Math.min(interval * 2 ** Math.min(failures, 20), MAX_BACKOFF_MS));
}

/** The signals of each item. @throws SourceFault if there is no active profile to match with */
async function match(
  deps: RunDeps,
  source: Source,
  { items, nextTurn, room }: { items: readonly SourceItem[]; nextTurn: () => Promise<void>; room: RoomLease },
): Promise<PlannedSignal[][]> {
  const posts = await toPosts(items, nextTurn);
  const rule = { profileIds: source.profileIds, onlyMatching: true };
  const planned = await planPosts(deps, source.tenantId, posts, rule, room);
  await nextTurn();
  if (planned.some(({ errors }) => errors.length > 0)) {
    // Nothing is skipped: everything is read again once there is a profile.
    throw new SourceFault('no_active_profile', 'None of the profiles of this source is active.');
  }
  return planned.map(({ signals }) => signals);
}

/**
 * Fails if the plan's quota of signals is used up, so nothing is skipped: everything is read again once there
 * is room. @throws SourceFault
 */
async function needRoom(deps: Pick<IntakeDeps, 'store' | 'clock'>, tenantId: string): Promise<void> {
  try {
    await requireRoom(deps, tenantId, 'signals');
  } catch (error) {
    const full = error instanceof DomainError && error.code === 'PLAN_REQUIRED';
    throw full ? new SourceFault('plan_ceiling', error.message) : error;
  }
}

/** The reader of each kind. */
export const READERS: Record<SourceKind, Reader> = {
  rss: readFeedSource,
  hackernews: readHackerNews,
  hackernews_hiring: readHiring,
  stackexchange: readStackExchange,
  greenhouse: readGreenhouse,
  lever: readLever,
  ashby: readAshby,
  smartrecruiters: readSmartRecruiters,
  recruitee: readRecruitee,
  workable: readWorkable,
  sec_form_d: readFormD,
  discourse: readDiscourse,
  lemmy: readLemmy,
  mastodon: readMastodon,
  lobsters: readLobsters,
  github: readGitHub,
  bluesky: readJetstream,
  reddit: readReddit,
};
