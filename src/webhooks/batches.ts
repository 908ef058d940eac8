import type { FeedbackLinks } from '../accounts/links.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { TenantSettings } from '../model/tenant.ts';
import { lastDaily, lastHourly } from '../rules/digest-time.ts';
import { storyOf } from '../signals/plan-posts.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { BatchedSignals, WaitingBatch } from '../store/event-store.ts';
import type { Store } from '../store/store.ts';
import { bodyStatus } from './fan-out.ts';
import { type ShapedBody, shapedPayload } from './format.ts';
import { eventEnvelope } from './payload.ts';
import { presetBody } from './presets/preset-body.ts';
import { batchNotice, MAX_ENTRIES, type ToldSignal } from './presets/signal-notice.ts';

/** What batches need of the process. */
export interface BatchParts {
  store: Store;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
  /** Left out: messages have no links that rate a signal. */
  feedbackLinks?: FeedbackLinks | undefined;
}

type IsStopping = () => boolean;

/** Events of one message, and rows of one commit: about 10 ms of the store's writer. */
const MOST_EVENTS = 5_000;
/** What was found just before the hour may be stored just after it. */
const SETTLE_MS = 10_000;

/**
 * Sends what waits for endpoints whose hour or day is over, one message each: what it tells of waits no more in the commit
 * that stores its delivery. What happened since the hour comes along.
 */
export async function sendBatches(parts: BatchParts, isStopping: IsStopping = () => false): Promise<void> {
  for (const waiting of await parts.store.listWaitingBatches()) {
    if (isStopping()) return;
    await sendBatch(parts, waiting, isStopping);
  }
}

async function sendBatch(parts: BatchParts, waiting: WaitingBatch, isStopping: IsStopping): Promise<void> {
  const { store, clock } = parts;
  const { endpointId, tenantId, since } = waiting;
  // Without regard to the plan: what was taken on as messages is sent as messages.
  const receiver = (await store.listReceivers(tenantId)).find(({ id }) => id === endpointId);
  if (receiver === undefined) {
    await store.dropBatched(endpointId, MOST_EVENTS);
    return;
  }
  const settings = await store.getSettings(tenantId);
  if (settings === null || since >= lastDue(receiver, settings, clock.now() - SETTLE_MS)) return;

  // One at a time where it takes no messages of several any more.
  const limit = isPresetShape(receiver.shape) ? MOST_EVENTS : 1;
  while (!isStopping()) {
    const read = await store.readBatch(endpointId, { limit, best: MAX_ENTRIES });
    if (read === null) return;
    // What has changed meanwhile is read again the next time.
    if (!(await store.commitBatch(await batchOf(parts, { receiver, tenantId, since, read })))) return;
  }
}

/** Up to when what happened is due. */
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
      return Number.POSITIVE_INFINITY; // no longer batched: what waits is due
  }
}

async function batchOf(
  parts: BatchParts,
  {
    receiver,
    tenantId,
    since,
    read,
  }: { receiver: Receiver; tenantId: string; since: number; read: BatchedSignals },
) {
  const { clock, newId, baseUrl } = parts;
  const signals = read.wires.map((wire) => JSON.parse(wire) as Signal);
  const best = isPresetShape(receiver.shape)
    ? await toldSignals(parts, tenantId, signals)
    : signals.map((signal) => ({ signal, story: null }));
  // Whatever its class, and whatever somebody has done with it since.
  const url = `${baseUrl}/dashboard/signals?state=all&from=${toIso(since)}`;
  const body = bodyOf(receiver, read, { best, url });
  const delivery = { id: newId('dlv'), endpointId: receiver.id, ...body, status: bodyStatus(body, receiver) };
  return { endpointId: receiver.id, tenantId, read, delivery, now: clock.now() };
}

function bodyOf(
  { shape }: Receiver,
  { counts, last }: BatchedSignals,
  { best, url }: { best: readonly ToldSignal[]; url: string },
): ShapedBody {
  if (isPresetShape(shape)) return { body: presetBody(shape.preset, batchNotice({ counts, best, url })) };
  const [first] = best;
  const isEnvelope = last.type === 'signal.new_hot' || first === undefined;
  return isEnvelope ? { body: eventEnvelope(last) } : shapedPayload(first.signal, shape);
}

/** Stored signals with what messages say of them, as they are now: nothing of one whose author was erased. */
export function toldSignals(
  { store, clock, feedbackLinks }: Pick<BatchParts, 'store' | 'clock' | 'feedbackLinks'>,
  tenantId: string,
  signals: readonly Signal[],
): Promise<ToldSignal[]> {
  return Promise.all(
    signals.map(async (signal) => {
      const found = await store.getSignal(tenantId, signal.signal_id);
      if (found === null || found.text === '') return { signal, story: null };
      const explained = { text: found.text, explanation: JSON.parse(found.explanation) };
      return { signal, story: storyOf({ feedbackLinks, tenantId, now: clock.now() }, signal, explained) };
    }),
  );
}
