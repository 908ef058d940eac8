import type { ServerResponse } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/model/delivery.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createHarness, type Harness, TENANT } from './harness.ts';

const PAUSE_AT = 20;
const ENDPOINTS = 3;
const DELIVERIES = 45;

/** A step: some open requests are answered together, time passes, or an endpoint is resumed. */
type Step =
  | { do: 'answer'; picks: number[]; failing: boolean[] }
  | { do: 'pass'; ms: number }
  | { do: 'resume'; which: number };

const failing = fc.integer({ min: 0, max: 99 }).map((n) => n < 96);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      picks: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 25 }),
      failing: fc.array(failing, { minLength: 25, maxLength: 25 }),
    }),
    weight: 12,
  },
  { arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(20_000) }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('resume' as const), which: fc.nat(ENDPOINTS - 1) }), weight: 1 },
);

/** The expected endpoint, computed from the outcomes as they were committed. */
interface Expected {
  id: string;
  paused: boolean;
  failures: number;
  pauses: number;
}

test('exactly the 20th consecutive failure pauses an endpoint, once, in any sequence of events', async () => {
  const receiver = await startReceiver();
  let pauses = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      const run = await startRun(receiver);
      for (const one of steps) {
        await run.take(one);
        await run.check();
      }
      pauses += run.expected.reduce((sum, one) => sum + one.pauses, 0);
      await run.end();
    }),
    { numRuns: 8 },
  );
  expect(pauses).toBeGreaterThan(2);
  await receiver.close();
}, 120_000);

async function startRun(receiver: Receiver) {
  const expected: Expected[] = [];
  let open: ServerResponse[] = [];
  const late: string[] = [];
  const harness: Harness = await createHarness({ onOutcome: count });
  receiver.answer = (response, request) => {
    open.push(response);
    const target = expected[Number(request.path.slice(1))];
    if (target?.paused) late.push(`${request.path} after its pause`);
  };
  const origin = new URL(receiver.url).origin;
  for (let n = 0; n < ENDPOINTS; n++) {
    const url = `${origin}/${n}`;
    const settings = { url, rate_limit_per_minute: 100_000, max_retries: 10, auto_resume: false };
    const { id } = await harness.endpoint(settings);
    expected.push({ id, paused: false, failures: 0, pauses: 0 });
    await harness.enqueue(id, DELIVERIES);
  }
  await harness.dispatcher.start();
  await quiet();

  function count({ endpointId, attempt }: Outcome): void {
    const target = expected.find(({ id }) => id === endpointId);
    if (target === undefined) throw new Error('an outcome of no endpoint');
    target.failures = attempt.error === null ? 0 : target.failures + 1;
    if (target.paused || target.failures < PAUSE_AT) return;
    target.paused = true;
    target.pauses++;
  }

  /** Waits until nothing has arrived or been stored for several turns of the event loop, including timers. */
  async function quiet(): Promise<void> {
    for (let still = 0, seen = -1; still < 3; ) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      await new Promise((resolve) => setImmediate(resolve));
      const now = receiver.requests.length + harness.outcomes.length;
      still = now === seen ? still + 1 : 0;
      seen = now;
    }
  }

  function hasLanded({ req: { headers } }: ServerResponse): boolean {
    return harness.outcomes.some(
      ({ deliveryId, attempt }) =>
        deliveryId === headers['webhook-id'] && attempt.attempt === Number(headers['x-service-attempt']),
    );
  }

  async function resume(target: Expected): Promise<void> {
    const terms = {
      tenantId: TENANT,
      id: target.id,
      now: harness.clock.now(),
      endpointLimit: null,
      limit: 500,
    };
    if ((await harness.store.resumeEndpoint(terms)) !== 'resumed') return;
    target.paused = false;
    target.failures = 0;
    harness.dispatcher.endpointChanged(target.id);
  }

  return {
    expected,
    async take(one: Step): Promise<void> {
      if (one.do === 'pass') harness.clock.advance(one.ms);
      else if (one.do === 'resume') {
        const target = expected[one.which];
        if (target !== undefined) await resume(target);
      } else {
        open = open.filter((response) => !response.destroyed); // some may have timed out
        const chosen = new Set(one.picks.flatMap((pick) => open[pick % Math.max(open.length, 1)] ?? []));
        open = open.filter((response) => !chosen.has(response));
        for (const [index, response] of [...chosen].entries()) {
          if (one.failing[index] && index % 3 === 2) response.socket?.write('no HTTP\r\n\r\n');
          else response.writeHead(one.failing[index] ? 503 : 200).end();
        }
        // Waits for the answered requests, not for a count: under load, one that is still open may have
        // timed out.
        for (const response of chosen)
          while (!hasLanded(response)) await harness.committed(harness.outcomes.length + 1);
      }
      await quiet();
    },
    async check(): Promise<void> {
      for (const { id, paused, failures, pauses } of expected) {
        const endpoint = await harness.store.getEndpoint(TENANT, id);
        expect(endpoint).toMatchObject({
          status: paused ? 'paused' : 'active',
          pausedReason: paused ? 'failures' : null,
          consecutiveFailures: failures,
        });
        const mail = await harness.store.listMail(TENANT, 200);
        const told = mail.filter(({ facts }) => facts.kind === 'endpoint_paused' && facts.endpointId === id);
        expect(told).toHaveLength(pauses);
      }
      expect(late).toEqual([]);
      expect(new Set(receiver.requests.map((one) => one.headers['webhook-id'])).size).toBeGreaterThan(0);
    },
    async end(): Promise<void> {
      for (const response of open) response.destroy();
      await harness.dispatcher.stop(0);
      await harness.store.close();
    },
  };
}
