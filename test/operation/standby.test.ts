import { expect, test } from 'vitest';
import { openWhenReachable } from '../../src/operation/standby.ts';
import { StoreOpenError } from '../../src/store/errors.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { freePort } from '../support/server-process.ts';

async function aStandby() {
  const port = await freePort();
  const clock = createManualClock(0);
  const lines: unknown[] = [];
  const logger = { error: (line: unknown) => lines.push(line), info: (line: unknown) => lines.push(line) };
  const config = { host: '127.0.0.1', port, baseUrl: 'http://localhost' };
  const deps = { config, clock, newId: () => 'req_1', logger: logger as never };
  return { url: `http://127.0.0.1:${port}`, clock, lines, deps };
}

const unreachable = () => new StoreOpenError('unreachable', 'The PostgreSQL server cannot be reached.');

/** Retries until something listens: the port is opened some turns of the event loop after the first attempt. */
async function ask(url: string): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(url).catch((error: unknown) => {
      if (tries === 200) throw error;
      return null;
    });
    if (answer !== null) return answer;
  }
}

test('until the storage can be reached, every request gets 503; then the port is released', async () => {
  const { url, clock, lines, deps } = await aStandby();
  let tries = 0;
  const opening = openWhenReachable(deps, async () => {
    tries++;
    if (tries < 3) throw unreachable();
    return 'opened';
  });
  const answer = await ask(`${url}/v1/signals?limit=1`);
  expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-request-id')]).toEqual([
    ...[503, '5', 'req_1'],
  ]);
  expect(await answer.json()).toMatchObject({
    ...{ status: 503, code: 'UNAVAILABLE', instance: '/v1/signals', request_id: 'req_1' },
  });
  const ready = await ask(`${url}/ready`);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'unready', checks: { store: { ok: false, detail: 'the storage is unreachable' } } },
  ]);
  await clock.advance(1_000);
  expect(tries).toBe(2);
  expect((await ask(`${url}/ready`)).status).toBe(503);
  await clock.advance(1_000);
  expect(await opening).toBe('opened');
  await expect(fetch(url)).rejects.toThrow();
  expect(lines).toEqual([
    'The PostgreSQL server cannot be reached. Until then every request gets 503.',
    { lasted_ms: 2_000 },
  ]);
});

test('a reachable storage is opened without logging, and any other error is thrown', async () => {
  const { lines, deps } = await aStandby();
  expect(await openWhenReachable(deps, async () => 1)).toBe(1);
  const refused = openWhenReachable(deps, async () => {
    throw new StoreOpenError('other_key', 'Another key.');
  });
  await expect(refused).rejects.toThrow('Another key.');
  expect(lines).toEqual([]);
});
