import { expect, onTestFinished, test } from 'vitest';
import type { DispatcherPulse } from '../../src/dispatcher/dispatcher.ts';
import { createReadiness } from '../../src/operation/operation.ts';
import type { StorePulse } from '../../src/store/figures.ts';
import { buildTestApp } from '../support/app.ts';
import { createManualClock } from '../support/manual-clock.ts';

const clock = createManualClock();

/** A server that is healthy except for `faults`. */
function aServer(faults: { probe?: () => Promise<void>; pulse?: Partial<StorePulse>; stuck?: string }) {
  const well = {
    accepting: true,
    queueLength: 0,
    queueLimit: 100,
    freeBytes: 1e9,
    clockSkewMs: null,
  } as StorePulse;
  return createReadiness({
    clock,
    store: { probe: faults.probe ?? (async () => {}), pulse: () => ({ ...well, ...faults.pulse }) },
    dispatcher: () => ({ stuck: faults.stuck ?? null }) as DispatcherPulse,
  });
}

test('a working server reports ready after a write', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  const before = t.store.pulse().commitOperations.sum;
  const answer = await t.app.inject('/ready');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    status: 'ready',
    checks: { store: { ok: true }, disk: { ok: true }, writer: { ok: true }, dispatcher: { ok: true } },
  });
  expect(t.store.pulse().commitOperations.sum).toBe(before + 1);
});

test('a server whose storage fails responds with 503 and the failed check, and liveness stays ok', async () => {
  const t = await buildTestApp({
    wrapStore: (store) => ({ ...store, probe: () => Promise.reject(new Error('The storage is full.')) }),
  });
  onTestFinished(() => t.app.close());
  const answer = await t.app.inject('/ready');
  expect(answer.statusCode).toBe(503);
  expect(answer.headers['retry-after']).toBe('5');
  expect(answer.json()).toMatchObject({
    status: 'unready',
    checks: { store: { ok: false, detail: 'The storage is full.' }, disk: { ok: true } },
  });
  expect((await t.app.inject('/api/health')).statusCode).toBe(200);
});

test('a write that takes too long is a failure, however it ends', async () => {
  const looking = aServer({ probe: () => new Promise(() => undefined) })();
  clock.advance(3_000);
  expect(await looking).toMatchObject({ status: 'unready', checks: { store: { ok: false } } });
});

test.each([
  ['disk', { pulse: { freeBytes: 31 * 1024 * 1024 } }, /31 MiB are free/],
  ['writer', { pulse: { accepting: false } }, /nothing can be stored/],
  ['writer', { pulse: { queueLength: 100 } }, /100 changes wait/],
  ['clock', { pulse: { clockSkewMs: 2_500 } }, /2\.5 s ahead of the database/],
  ['clock', { pulse: { clockSkewMs: -61_000 } }, /61\.0 s behind the database/],
  ['dispatcher', { stuck: 'deliveries are due, and none is sent' }, /none is sent/],
] as const)('%s has its own check', async (name, faults, detail) => {
  const { status, checks } = await aServer(faults)();
  expect(status).toBe('unready');
  expect(checks[name]).toEqual({ ok: false, detail: expect.stringMatching(detail) });
  expect(Object.values(checks).filter(({ ok }) => !ok)).toHaveLength(1);
});

test('an in-memory store needs no disk space', async () => {
  expect((await aServer({ pulse: { freeBytes: null } })()).status).toBe('ready');
});

test('concurrent requests share one result, so that a flood of requests causes no flood of writes', async () => {
  let probes = 0;
  const look = aServer({
    probe: async () => {
      probes++;
    },
  });
  await Promise.all([look(), look(), look()]);
  expect(probes).toBe(1);
  await look();
  expect(probes).toBe(2);
});

test('concurrent requests continue in turns of the event loop after the check', async () => {
  const look = aServer({});
  const turns = await Promise.all(
    Array.from({ length: 10 }, async () => {
      await look();
      for (const until = performance.now() + 3; performance.now() < until; );
      return performance.nodeTiming.uvMetricsInfo.loopCount;
    }),
  );
  expect(new Set(turns).size).toBeGreaterThan(3);
});
