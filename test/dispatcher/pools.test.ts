import type { Dispatcher as Undici } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPools, type Pools, type RequestHandler } from '../../src/dispatcher/pools.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { createConnect } from '../../src/webhooks/connect.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';

let receiver: Receiver;
let pools: Pools;
let clock: ReturnType<typeof createManualClock>;

beforeEach(async () => {
  receiver = await startReceiver();
  clock = createManualClock();
  const loopback = parseCidr('127.0.0.0/8');
  const allow = createAddressSet(loopback ? [loopback] : []);
  const connect = createConnect({ clock: systemClock, allow, lookup: async () => [], localAddress: null });
  pools = createPools(clock, connect);
});
afterEach(async () => {
  await pools.destroy();
  await receiver.close();
});

/** Posts, and resolves a turn of the event loop later to the error or null. */
function post(how: 'dispatch' | 'dispatchFresh' = 'dispatch'): Promise<string | null> {
  return new Promise((resolve) => {
    const end = (error: string | null) => void setTimeout(() => resolve(error), 5);
    const handler: RequestHandler = {
      onDial: () => {},
      onConnected: () => {},
      onRequestStart: () => {},
      onResponseStarted: () => {},
      onResponseStart: () => {},
      onResponseData: () => {},
      onResponseEnd: () => end(null),
      onResponseError: (_, error) => end(error.message),
    };
    const options: Undici.DispatchOptions = {
      path: '/',
      method: 'POST',
      headers: [],
      body: Buffer.from('{}'),
    };
    pools[how](new URL(receiver.url).origin, options, handler);
  });
}

const connections = () => receiver.requests.map(({ connection }) => connection);

test('sequential requests share one connection', async () => {
  await Promise.all([post(), post(), post()]);
  expect([...connections()].sort()).toEqual([1, 2, 3]);
  for (let i = 0; i < 4; i++) expect(await post()).toBeNull();
  expect(new Set(connections().slice(3)).size).toBe(1);
});

test('a connection that the receiver closed with its response is not reused', async () => {
  receiver.answer = (response, request, socket) => {
    response.setHeader('connection', 'close');
    status(200)(response, request, socket);
  };
  for (let i = 0; i < 3; i++) expect(await post()).toBeNull();
  expect(connections()).toEqual([1, 2, 3]);
});

test('a connection whose request failed is not reused', async () => {
  expect(await post()).toBeNull();
  receiver.answer = (_response, _request, socket) => socket.destroy();
  expect(await post()).not.toBeNull();
  receiver.answer = status(200);
  expect(await post()).toBeNull();
  expect(connections()).toEqual([1, 1, 2]);
});

test('a request on a fresh connection neither takes nor leaves a kept one', async () => {
  expect(await post()).toBeNull();
  expect(await post('dispatchFresh')).toBeNull();
  expect(await post()).toBeNull();
  expect(connections()).toEqual([1, 2, 1]);
});

test('idle connections are closed, those in use are kept', async () => {
  await Promise.all([post(), post()]);
  clock.advance(60_000);
  expect(await post()).toBeNull();
  const kept = connections().at(-1);
  clock.advance(60_000);
  pools.sweep();
  expect(await post()).toBeNull();
  expect(connections().at(-1)).toBe(kept);
  clock.advance(90_001);
  pools.sweep();
  expect(await post()).toBeNull();
  expect(connections().at(-1)).toBe(3);
});
