import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WINDOW_MS } from '../../src/dispatcher/throttle.ts';
import type { Outcome } from '../../src/model/delivery.ts';
import { type Answer, close, hang, startReceiver, status } from '../support/receiver.ts';
import { createHarness, settle, TENANT } from './harness.ts';

const MINUTE_MS = 60_000;

type Step =
  | { do: 'enqueue'; count: number }
  | { do: 'pass'; seconds: number; strideMs: number }
  | { do: 'answer'; how: keyof typeof ANSWERS }
  | { do: 'test' }
  | { do: 'replay' }
  | { do: 'restart' };

const ANSWERS = { ok: status(200), fail: status(500), hang, close } satisfies Record<string, Answer>;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({ do: fc.constant('enqueue' as const), count: fc.integer({ min: 1, max: 25 }) }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      seconds: fc.integer({ min: 1, max: 400 }),
      strideMs: fc.integer({ min: 400, max: 2_600 }),
    }),
    weight: 5,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      how: fc.constantFrom('ok', 'ok', 'fail', 'hang', 'close'),
    }),
    weight: 2,
  },
  fc.constantFrom<Step>({ do: 'test' }, { do: 'replay' }, { do: 'restart' }),
);

/**
 * The rate limit does not allow a second try, so the delivery is sent later on a new connection, which takes
 * several turns of the event loop.
 */
const DIALLED_LATE: [limit: number, steps: Step[]] = [
  1,
  [
    { do: 'enqueue', count: 1 },
    { do: 'pass', seconds: 61, strideMs: 2_000 },
    { do: 'answer', how: 'close' },
    { do: 'enqueue', count: 1 },
    { do: 'pass', seconds: 130, strideMs: 2_460 },
    { do: 'pass', seconds: 60, strideMs: 500 },
  ],
];

test('no 60 s exceed the limit, even across restarts, and waiting work uses it in full', async () => {
  const receiver = await startReceiver();
  let sent = 0; // across all runs: a property that sends nothing proves nothing
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { minLength: 8, maxLength: 24 }),
      async (limit, steps) => {
        const run = await startRun(limit);
        for (const one of steps) await run.take(one);
        await run.take({ do: 'answer', how: 'ok' });
        await run.take({ do: 'pass', seconds: 130, strideMs: 1_700 });
        sent += run.arrivals.length;
        await run.end();
      },
    ),
    { numRuns: 10, endOnFailure: true, examples: [DIALLED_LATE] }, // shrinking would exceed the timeout of the test
  );
  expect(sent).toBeGreaterThan(100);
  await receiver.close();

  async function startRun(limit: number) {
    const arrivals: number[] = [];
    let seen = 0;
    let how: keyof typeof ANSWERS = 'ok';
    /** Until then, a process that has died may have counted more than it sent. */
    let doubtfulUntil = 0;
    /** When each unfinished delivery is due, and which ones are in flight. */
    const due = new Map<string, number>();
    const underWay = new Set<string>();
    const harness = await createHarness({ onOutcome: land });
    const { clock, store } = harness;
    let dispatcher = harness.dispatcher;
    receiver.answer = (response, request, socket) => {
      arrivals.push(clock.monotonic());
      // A request on a closed connection is over when it arrives: if the rate limit allows no second try, the
      // delivery is due again without an outcome.
      if (how !== 'close') underWay.add(String(request.headers['webhook-id']));
      ANSWERS[how](response, request, socket);
    };
    const { id } = await harness.endpoint({
      url: receiver.url,
      rate_limit_per_minute: limit,
      max_retries: 10,
    });
    const ids: string[] = [];
    await dispatcher.start();

    function land({ deliveryId, next }: Outcome): void {
      underWay.delete(deliveryId);
      if (next.status === 'retrying') due.set(deliveryId, next.at);
      else due.delete(deliveryId);
    }

    /**
     * Whether something is due and not in flight, although the rate limit allows it and the endpoint is
     * active.
     */
    async function isSendable(): Promise<boolean> {
      const used = arrivals.filter((at) => at > clock.monotonic() - WINDOW_MS).length;
      if (used >= limit) return false;
      const waits = [...due].some(([one, at]) => at <= clock.now() && !underWay.has(one));
      return waits && (await store.getEndpoint(TENANT, id))?.status === 'active';
    }

    /** A request repeated on another connection can arrive at any time: the clock must not advance before. */
    async function allArrived(): Promise<void> {
      for (let same = 0, turns = 0; same < 4 && turns < 200; turns++) {
        const before = arrivals.length;
        await settle(4);
        await new Promise((resolve) => setTimeout(resolve, 1));
        same = arrivals.length === before ? same + 1 : 0;
      }
    }

    async function check(): Promise<void> {
      await settle(4);
      for (let turns = 0; turns < 60 && (await isSendable()); turns++) await settle(10);
      if (how === 'close' && arrivals.length > seen) await allArrived();
      seen = arrivals.length;
      const wasted = clock.monotonic() >= doubtfulUntil && (await isSendable());
      expect({ wasted, at: clock.monotonic() }).toMatchObject({ wasted: false });
      const now = clock.monotonic();
      const lately = arrivals.filter((at) => at > now - MINUTE_MS).length;
      expect({ lately, limit, fits: lately <= limit }).toMatchObject({ fits: true });
    }

    async function pass(ms: number): Promise<void> {
      clock.advance(ms);
      await check();
    }

    return {
      arrivals,
      async take(one: Step): Promise<void> {
        if (one.do === 'enqueue') {
          const added = await harness.enqueue(id, one.count);
          ids.push(...added);
          for (const one of added) due.set(one, clock.now());
          dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
        } else if (one.do === 'answer') how = one.how;
        else if (one.do === 'replay') {
          for (const one of ids) {
            const { outcome } = await store.replayDelivery(TENANT, one, clock.now());
            if (outcome === 'replayed') due.set(one, clock.now());
          }
          dispatcher.nudge([{ endpointId: id, tenantId: TENANT }]);
        } else if (one.do === 'test') {
          const endpoint = await store.getEndpoint(TENANT, id);
          if (endpoint !== null)
            void dispatcher.sendTest({ endpoint, deliveryId: `dlv_t${arrivals.length}`, body: '{"a":1}' });
        } else if (one.do === 'restart') {
          await dispatcher.stop(0);
          underWay.clear();
          doubtfulUntil = clock.monotonic() + WINDOW_MS;
          dispatcher = harness.restart();
          await dispatcher.start();
        } else {
          for (let left = one.seconds * 1_000; left > 0; left -= one.strideMs)
            await pass(Math.min(left, one.strideMs));
        }
        await check();
      },
      async end(): Promise<void> {
        await dispatcher.stop(0);
        await store.close();
      },
    };
  }
}, 120_000);
