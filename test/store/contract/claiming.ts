import { idFloor } from '../../../src/lib/ids.ts';
import type { AttemptRecord, Outcome } from '../../../src/model/delivery.ts';
import type { LaneClaim, RetryPlace } from '../../../src/store/delivery-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';

export const LEASE_MS = 60_000;

/** Adds one delivery to `endpointId` per ID, each with its own event, due at `dueAt`. */
export async function addDeliveries(
  store: Store,
  endpointId: string,
  ids: string[],
  dueAt = T0,
  tenantId = endpointId.replace('whk', 'ten'),
  urgent = false,
): Promise<void> {
  const events = ids.map((id) => ({
    ...aRoutedEvent(tenantId, [endpointId], { deliveryIds: [id], createdAt: dueAt }),
    urgent,
  }));
  await store.commitSignals([aSignal(tenantId, { events })]);
}

/** Moves planned retries and probes with the clock. Returns the number of parts. */
export async function shiftAll(store: Store, now: number, deltaMs: number, limit = 1_000): Promise<number> {
  let parts = 0;
  let after: RetryPlace | null = null;
  do {
    after = await store.shiftDue({ now, deltaMs, after, limit });
    parts++;
  } while (after !== null);
  return parts;
}

/** Claims deliveries of one endpoint. */
export async function claim(
  store: Store,
  endpointId: string,
  { now = T0, limit = 10, oldest = 0, token = 'lease_1', knownVersion = 1, held = [] as string[] } = {},
): Promise<LaneClaim> {
  const [lane] = await store.claimDeliveries({
    lanes: [{ endpointId, limit, oldest, knownVersion, held: held.map((id) => ({ id, attempt: 1 })) }],
    now,
    leaseUntil: now + LEASE_MS,
    leaseToken: token,
  });
  if (lane === undefined) throw new Error('A claim answers for each lane.');
  return lane;
}

/** A failed first attempt of `dlv_1` to `whk_a`, to be retried at `T0 + 5000`. */
export function anOutcome(overrides: Partial<Outcome> = {}, attempt: Partial<AttemptRecord> = {}): Outcome {
  return {
    deliveryId: 'dlv_1',
    endpointId: 'whk_a',
    attempt: {
      id: `${idFloor('att', attempt.startedAt ?? T0)}_1`,
      attempt: 1,
      startedAt: T0,
      durationMs: 12.5,
      sent: {
        host: 'receiver.example.com',
        contentLength: 123,
        bodySignature: 'abc',
        serviceSignature: 'def',
        standardSignature: 'v1,ghi',
      },
      response: { status: 500, headers: { 'set-cookie': ['a', 'b'] }, body: 'no' },
      error: { code: 'http_status', message: 'answered 500' },
      timings: { connectedMs: 1, headersMs: 12 },
      ...attempt,
    },
    next: { status: 'retrying', at: T0 + 5000 },
    streak: 'add',
    at: T0,
    gone: false,
    probe: false,
    ...overrides,
  };
}
