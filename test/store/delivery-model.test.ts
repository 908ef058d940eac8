import fc from 'fast-check';
import { expect, test } from 'vitest';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { anEndpoint, aTenant, openTestStore, T0 } from '../support/store.ts';
import * as commands from './model/commands.ts';
import { DAY, type Ending, type Expected, type ExpectedEndpoint, MINUTE } from './model/expected.ts';
import { verify, verifyLists } from './model/verify.ts';

/** The initial number of consecutive failures of each endpoint: two of them are close to a pause. */
const FAILURES = [0, 17, 19];

const which = fc.nat(FAILURES.length - 1);
const who = fc.nat(1);
const ending: fc.Arbitrary<Ending> = fc
  .nat(19)
  .map((n) => (n < 9 ? 'success' : n < 16 ? 'failure' : n < 18 ? 'blocked' : n < 19 ? 'internal' : 'gone'));
/** Outcomes of requests sent together: of every kind, or an outage. */
const endings = fc.oneof(
  fc.array(ending, { minLength: 1, maxLength: 4 }),
  fc.constant<Ending[]>(['failure']),
);
const settings = fc.record(
  {
    max_retries: fc.integer({ min: 1, max: 4 }),
    dead_letter: fc.boolean(),
    auto_resume: fc.boolean(),
    retry_interval_seconds: fc.option(fc.integer({ min: 30, max: 600 })),
  },
  { requiredKeys: [] },
);
const time = fc.oneof(
  fc.nat(2_000),
  fc.nat(2 * MINUTE),
  fc.integer({ min: 5, max: 90 }).map((minutes) => minutes * MINUTE),
  fc.integer({ min: 1, max: 8 }).map((days) => days * DAY),
);

/** Repeated entries are chosen more often. */
const steps = [
  fc.tuple(which, fc.integer({ min: 1, max: 25 })).map(([n, count]) => commands.newEvents(n, count, false)),
  fc.tuple(which, fc.integer({ min: 1, max: 25 })).map(([n, count]) => commands.newEvents(n, count, false)),
  which.map((n) => commands.newEvents(n, 1, true)),
  ...Array.from({ length: 4 }, () =>
    fc.tuple(which, fc.nat(25), who).map(([n, limit, one]) => commands.claim(n, limit, one)),
  ),
  ...Array.from({ length: 3 }, () =>
    fc
      .tuple(fc.nat(40), fc.integer({ min: 1, max: 25 }), ending)
      .map(([n, count, end]) => commands.landSome(n, count, end)),
  ),
  ...Array.from({ length: 4 }, () =>
    fc
      .tuple(which, fc.constantFrom(1, 2, 3, 5, 20, 25), who, endings)
      .map(([n, limit, one, endings]) => commands.turn(n, limit, one, endings)),
  ),
  fc.tuple(fc.nat(40), fc.constant(25)).map(([n, count]) => commands.landSome(n, count, 'failure')),
  ...Array.from({ length: 2 }, () => fc.tuple(which, who).map(([n, one]) => commands.probe(n, one))),
  ...Array.from({ length: 4 }, () =>
    fc.tuple(which, who, endings).map(([n, one, end]) => commands.retryInTime(n, one, end)),
  ),
  ...Array.from({ length: 4 }, () =>
    fc.tuple(which, who, ending).map(([n, one, end]) => commands.probeInTime(n, one, end)),
  ),
  which.map((n) => commands.pause(n)),
  ...Array.from({ length: 3 }, () =>
    fc.tuple(which, fc.integer({ min: 1, max: 5 })).map(([n, limit]) => commands.resume(n, limit)),
  ),
  fc.tuple(which, settings).map(([n, changes]) => commands.patch(n, changes)),
  fc
    .tuple(which, fc.nat(5))
    .map(([n, chance]) => (chance === 0 ? commands.remove(n) : commands.claim(n, 25, 0))),
  fc.nat(200).map((n) => commands.replayOne(n)),
  fc
    .tuple(which, fc.constantFrom('dead', 'discarded', 'delivered', 'expired'))
    .map(([n, status]) => commands.replayAll(n, status)),
  fc.constant(commands.crash()),
  fc.constant(commands.start()),
  who.map((one) => commands.stop(one)),
  ...Array.from({ length: 3 }, () => time.map((ms) => commands.pass(ms))),
  fc.constantFrom(-60 * MINUTE, 60 * MINUTE).map((ms) => commands.setClock(ms)),
  fc.constant(commands.keepHouse()),
  which.map((n) => commands.holdTooLong(n)),
];

test('after any steps, every delivery and endpoint has the state predicted by the model', async () => {
  const ended = new Map<string, number>();
  let paused = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 120, size: 'max' }), async (sequence) => {
      const { store, clock } = await openTestStore();
      await store.createTenant(aTenant(commands.TENANT));
      const endpoints = new Map<string, ExpectedEndpoint>();
      for (const [n, failures] of FAILURES.entries()) {
        const id = `whk_${n}`;
        const given = webhookInputSchema.parse({
          url: 'https://receiver.example.com/hook',
          max_retries: n + 1,
        });
        await store.createEndpoint(
          anEndpoint(commands.TENANT, { id, settings: given, consecutiveFailures: failures }),
          null,
        );
        endpoints.set(id, {
          ...{ id, deleted: false, paused: null, pausedAt: null, failures },
          ...{ probeAt: null, probes: 0, settings: given, lease: null, mails: 0 },
        });
      }
      const expected: Expected = {
        ...{ now: T0, endpoints, deliveries: new Map(), flights: [] },
        ...{ tokens: ['lease_0'], tokensEver: 0, made: 0 },
      };
      const world = { store, clock, attempts: 0, seen: new Map<string, string>() };
      await fc.asyncModelRun(() => ({ model: expected, real: world }), sequence);
      await verify(expected, world, true);
      await verifyLists(expected, world);
      for (const one of expected.deliveries.values()) ended.set(one.state, (ended.get(one.state) ?? 0) + 1);
      for (const one of endpoints.values()) if (one.mails > 0) paused++;
      await store.close();
    }),
    { numRuns: 25 },
  );
  // Otherwise, the sequences were too simple to prove anything.
  expect(ended.get('delivered')).toBeGreaterThan(0);

  expect(paused).toBeGreaterThan(0);
}, 120_000);
