import type { FeedbackLinks } from '../accounts/links.ts';
import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { IsStopping } from '../lib/periodic.ts';
import { createYielder, eachInTurns } from '../lib/yielding.ts';
import { DIGEST_SIGNALS, type DigestData } from '../model/event-resource.ts';
import type { NewMail } from '../model/mail.ts';
import { isPresetShape, shapeOf } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { TenantSettings } from '../model/tenant.ts';
import { dateIn, lastDaily, lastHourly, nextDaily } from '../rules/digest-time.ts';
import { storyOf } from '../signals/plan-posts.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { BatchedSignals, WaitingBatch } from '../store/event-store.ts';
import type { Store } from '../store/store.ts';
import { bodyStatus, routeChanges } from './fan-out.ts';
import { batchNotice, type DescribedSignal, digestNotice, MAX_ENTRIES } from './notice.ts';
import { eventEnvelope, presetPayload, type ShapedBody, shapedPayload } from './payload.ts';

/** Dependencies of digests. */
export interface DigestDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
  /** Omitted: messages have no links that rate a signal. */
  feedbackLinks?: FeedbackLinks | undefined;
}

const AT_ONCE = 100;
/** Maximum period of a digest. After a longer outage, older signals are no longer news. */
const MAX_SPAN_MS = 8 * DAY_MS;

/**
 * Creates all due digests, each exactly once: the commit that stores a digest also stores the next due time.
 */
export async function makeDigests(deps: DigestDeps, isStopping: () => boolean = () => false): Promise<void> {
  let due: TenantSettings[];
  do {
    due = await deps.store.dueDigests(deps.clock.now(), AT_ONCE);
    for (const settings of due) {
      if (isStopping()) return;
      await makeDigest(deps, settings);
    }
  } while (due.length === AT_ONCE);
}

async function makeDigest(deps: DigestDeps, settings: TenantSettings): Promise<void> {
  const { store, clock } = deps;
  const { tenantId, timezone, digest, digestDueAt, digestSince, digestPosition } = settings;
  const now = clock.now();
  const nextDueAt = nextDaily(now, { timezone, ...digest });
  const step = { tenantId, expectedDueAt: digestDueAt, nextDueAt };
  const nothing = { ...step, madeAt: null, event: null, mails: [] };
  if (digestSince === null) {
    await store.commitDigest({ ...nothing, since: now, position: await store.storedPosition(tenantId) });
    return;
  }
  if (digestDueAt === 0) {
    await store.commitDigest({ ...nothing, since: digestSince, position: digestPosition });
    return;
  }
  const range = {
    after: digestPosition,
    from: now - MAX_SPAN_MS,
    limit: DIGEST_SIGNALS,
    profileIds: digest.icp_profile_ids,
    isUntouched: true,
  };
  const { position, ...found } = await store.findBest(tenantId, range);
  const signals: Signal[] = found.wires.map((wire) => JSON.parse(wire)).filter(hasText);
  const date = dateIn(timezone, now);
  const due = { after: dateIn(timezone, digestSince), until: date, limit: 1 };
  // An overdue step is listed in every mail, but does not cause one every day.
  if (signals.length === 0 && (await store.listDueSteps(tenantId, due)).length === 0) {
    await store.commitDigest({ ...nothing, since: now, position });
    return;
  }
  const from = toIso(Math.min(found.oldest ?? now, digestSince));
  const data = digestData(signals, {
    date,
    timezone,
    counts: { hot: found.hot, warm: found.warm },
    url: `${deps.baseUrl}/dashboard${signals.length === 0 ? '' : everything(digest.icp_profile_ids, from)}`,
  });
  const readers = await store.digestReaders(tenantId);
  const mails = readers.map((userId) => digestMail(settings, { userId, data, now }));
  const notice = digestNotice(data, await describeSignals(deps, tenantId, signals));
  const change = { type: 'digest.ready', subjectId: tenantId, data, notice, signals: () => signals } as const;
  const [event = null] = await routeChanges(deps, tenantId, signals.length === 0 ? [] : [change]);
  await store.commitDigest({ ...step, since: now, position, madeAt: now, event, mails });
}

/** The list with everything that a digest counts, including signals dealt with since. */
function everything(profileIds: readonly string[], from: string): string {
  const profiles = profileIds.map((id) => `&icp=${id}`).join('');
  return `/signals?state=all&classification=hot,warm${profiles}&from=${from}`;
}

/** Signals whose author was erased are omitted. */
function hasText({ excerpt }: Signal): boolean {
  return excerpt !== '';
}

function digestData(signals: readonly Signal[], head: Omit<DigestData, 'signals'>): DigestData {
  const { date, timezone, counts, url } = head;
  const listed = signals.map(({ signal_id, classification, icp_score, excerpt, company, profile_url }) => ({
    ...{ signal_id, classification, icp_score, excerpt, company, profile_url },
  }));
  return { date, timezone, counts, signals: listed, url };
}

/**
 * IDs only: their content is read when the mail is sent, so that it contains nothing about an erased person.
 */
function digestMail(
  { tenantId, digest: { frequency } }: TenantSettings,
  { userId, data, now }: { userId: string; data: DigestData; now: number },
): NewMail {
  const { date, counts, signals, url } = data;
  const signalIds = signals.map((signal) => signal.signal_id);
  return {
    id: `mal_digest_${tenantId}_${now}_${userId}`,
    tenantId,
    facts: { kind: 'digest', userId, frequency, date, counts, signalIds, url },
    createdAt: now,
  };
}

/** Dependencies of batches. */
export interface BatchDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
  /** Omitted: messages have no links that rate a signal. */
  feedbackLinks?: FeedbackLinks | undefined;
}

/**
 * Maximum number of events in a message, and of rows in a commit, which takes the store's writer about 10 ms.
 */
const MOST_EVENTS = 5_000;
/** Endpoints that are read at a time, in about 2 ms. Those of all accounts, 120,000, took 0.5 s. */
const ENDPOINTS_AT_ONCE = 500;
/** Maximum number of messages to an endpoint before it is the turn of the others. */
const MESSAGES_A_TURN = 20;
/** A signal detected just before the hour may be stored just after it. */
const SETTLE_MS = 10_000;

/**
 * Sends waiting events to endpoints whose hour or day is over, in one message each. The commit that stores
 * the delivery removes its events from the batch. Events since the hour are included.
 */
export async function sendBatches(deps: BatchDeps, isStopping: IsStopping = () => false): Promise<void> {
  const nextTurn = createYielder(deps.clock);
  let left: WaitingBatch[] = [];
  async function sendTo(batches: readonly WaitingBatch[]): Promise<void> {
    for (const waiting of batches) {
      if (isStopping()) return;
      if (await sendSome(deps, waiting, isStopping)) left.push(waiting);
      await nextTurn();
    }
  }

  let part: WaitingBatch[] = [];
  do {
    part = await deps.store.listWaitingBatches(part.at(-1)?.endpointId ?? '', ENDPOINTS_AT_ONCE);
    await sendTo(part);
  } while (part.length === ENDPOINTS_AT_ONCE && !isStopping());
  while (left.length > 0 && !isStopping()) {
    const again = left;
    left = [];
    await sendTo(again);
  }
}

/** Returns whether more may be waiting. */
async function sendSome(deps: BatchDeps, waiting: WaitingBatch, isStopping: IsStopping): Promise<boolean> {
  const { store, clock } = deps;
  const { endpointId, tenantId, since } = waiting;
  // Not the list of all receivers: for ten thousand endpoints it was read ten thousand times.
  const endpoint = await store.getEndpoint(tenantId, endpointId);
  if (endpoint === null) {
    await store.dropBatched(endpointId, MOST_EVENTS);
    return false;
  }
  // Regardless of the plan: events that were accepted as messages are sent as messages.
  const format = endpoint.settings.payload_format;
  const receiver = { ...endpoint, shape: format === null ? null : shapeOf(format) };
  const settings = await store.getSettings(tenantId);
  if (settings === null || since >= lastDue(receiver, settings, clock.now() - SETTLE_MS)) return false;

  // One at a time if the endpoint no longer has a message format.
  const limit = isPresetShape(receiver.shape) ? MOST_EVENTS : 1;
  for (let sent = 0; sent < MESSAGES_A_TURN && !isStopping(); sent++) {
    const read = await store.readBatch(endpointId, { limit, best: MAX_ENTRIES });
    if (read === null) return false;
    // Events that changed meanwhile are read again the next time.
    if (!(await store.commitBatch(await batchOf(deps, { receiver, tenantId, since, read })))) return false;
  }
  return true;
}

/** The time up to which events are due. */
function lastDue(
  { settings: { batching } }: Receiver,
  { timezone, digest }: TenantSettings,
  now: number,
): number {
  switch (batching) {
    case 'hourly':
      return lastHourly(now, timezone);
    case 'daily':
      return lastDaily(now, { timezone, hour: digest.hour });
    case 'instant':
      return Number.POSITIVE_INFINITY; // no longer batched: waiting events are due
  }
}

async function batchOf(
  deps: BatchDeps,
  {
    receiver,
    tenantId,
    since,
    read,
  }: { receiver: Receiver; tenantId: string; since: number; read: BatchedSignals },
) {
  const { clock, newId, baseUrl } = deps;
  const signals = read.wires.map((wire) => JSON.parse(wire) as Signal);
  const best = isPresetShape(receiver.shape)
    ? await describeSignals(deps, tenantId, signals)
    : signals.map((signal) => ({ signal, story: null }));
  // With any classification and triage state.
  const url = `${baseUrl}/dashboard/signals?state=all&from=${toIso(since)}`;
  const body = bodyOf(receiver, read, { best, url });
  const delivery = { id: newId('dlv'), endpointId: receiver.id, ...body, status: bodyStatus(body, receiver) };
  return { endpointId: receiver.id, tenantId, read, delivery, now: clock.now() };
}

function bodyOf(
  { shape }: Receiver,
  { counts, last }: BatchedSignals,
  { best, url }: { best: readonly DescribedSignal[]; url: string },
): ShapedBody {
  if (isPresetShape(shape)) return presetPayload(shape, batchNotice({ counts, best, url }));
  const [first] = best;
  const isEnvelope = last.type === 'signal.new_hot' || first === undefined;
  return isEnvelope ? { body: eventEnvelope(last) } : shapedPayload(first.signal, shape);
}

/** Stored signals with their current explanations, and without those of erased authors. */
function describeSignals(
  { store, clock, feedbackLinks }: Pick<BatchDeps, 'store' | 'clock' | 'feedbackLinks'>,
  tenantId: string,
  signals: readonly Signal[],
): Promise<DescribedSignal[]> {
  // A story takes up to 10 ms.
  return eachInTurns(signals, async (signal) => {
    const found = await store.getSignal(tenantId, signal.signal_id);
    if (found === null || found.text === '') return { signal, story: null };
    const explained = { text: found.text, explanation: JSON.parse(found.explanation) };
    return { signal, story: storyOf({ feedbackLinks, tenantId, now: clock.now() }, signal, explained) };
  });
}
