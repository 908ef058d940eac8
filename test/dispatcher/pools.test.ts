import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Dispatcher as Undici } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPools, type Pools, type RequestHandler } from '../../src/dispatcher/pools.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { type Connect, ConnectError, createConnect } from '../../src/webhooks/connect.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { workForATurn } from '../support/turn.ts';

const MOST_IDLE = 5;

let receiver: Receiver;
let pools: Pools;
let connect: Connect;
let clock: ReturnType<typeof createManualClock>;

beforeEach(async () => {
  receiver = await startReceiver();
  clock = createManualClock();
  const loopback = parseCidr('127.0.0.0/8');
  const allow = createAddressSet(loopback ? [loopback] : []);
  connect = createConnect({ clock: systemClock, allow, lookup: async () => [], localAddress: null });
  pools = createPools(clock, connect, MOST_IDLE);
});
afterEach(async () => {
  await pools.destroy();
  await receiver.close();
});

/** Sends a POST, and resolves to the error or null one turn of the event loop later. */
function post(how: 'dispatch' | 'dispatchFresh' = 'dispatch', by = pools): Promise<string | null> {
  return new Promise((resolve) => {
    const end = async (error: string | null) => {
      await setTimeout(5);
      resolve(error);
    };
    const handler: RequestHandler = {
      tenantId: 'ten_a',
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
    by[how](new URL(receiver.url).origin, options, handler);
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

test('a request on a fresh connection neither uses nor leaves a kept-alive one', async () => {
  expect(await post()).toBeNull();
  expect(await post('dispatchFresh')).toBeNull();
  expect(await post()).toBeNull();
  expect(connections()).toEqual([1, 2, 1]);
});

test('idle connections are closed, and those in use are kept', async () => {
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

test('of too many idle connections, those that have been idle longest are closed', async () => {
  const open = new Set<unknown>();
  receiver.answer = (response, request, socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    status(200)(response, request, socket);
  };
  await Promise.all(Array.from({ length: MOST_IDLE + 3 }, () => post()));
  for (let i = 0; i < 100 && open.size > MOST_IDLE; i++) await setTimeout(10);
  expect(open.size).toBe(MOST_IDLE);
  const idleLongest = connections().slice(0, 3);
  await Promise.all(Array.from({ length: MOST_IDLE }, () => post()));
  const reused = connections().slice(MOST_IDLE + 3);
  expect(new Set([...reused, ...idleLongest]).size).toBe(MOST_IDLE + 3);
});

test('at the end, connections are closed in several turns of the event loop', async () => {
  const turns: number[] = [];
  const watched: Connect = (options, callback, owner) => {
    const onSocket = (socket: Socket) => {
      const destroy = socket.destroy.bind(socket);
      socket.destroy = (error) => {
        turns.push(workForATurn());
        return destroy(error);
      };
      callback(null, socket);
    };
    return connect(
      options,
      (...[error, socket]) => (error ? callback(error, null) : onSocket(socket)),
      owner,
    );
  };
  const ended = createPools(systemClock, watched);
  await Promise.all(Array.from({ length: 5 }, () => post('dispatch', ended)));
  expect(turns).toEqual([]);
  await ended.destroy();
  expect(turns).toHaveLength(5);
  expect(new Set(turns).size).toBe(5);
});

/** Sends this as the reply, and leaves the connection as it is. */
function answerRaw(text: string): void {
  receiver.answer = (_response, _request, socket) => void socket.write(text);
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;

test.each([
  ['header', HEAD],
  ['trailer', `${CHUNKED}2\r\nok\r\n0\r\n`],
  ['header of an interim reply', 'HTTP/1.1 103 Early Hints\r\n'],
])('a response with thousands of %s lines is cut off, because each becomes an object', async (_, start) => {
  // Fewer than undici itself refuses, and without an end, so that it would hold them until the timeout.
  answerRaw(start + 'a:\r\n'.repeat(3_000));
  expect(await post()).toBe(new ConnectError('invalid_response').message);
});

test.each([
  ['headers', `${HEAD}content-length: 0\r\n${'a: b\r\n'.repeat(250)}\r\n`],
  ['trailers', `${CHUNKED}2\r\nok\r\n0\r\n${'a: b\r\n'.repeat(250)}\r\n`],
  ['lines of its body', `${HEAD}content-length: 40000\r\n\r\n${'\n'.repeat(40_000)}`],
  ['lines of its body in chunks', `${CHUNKED}${'4\r\n\n\n\n\n\r\n'.repeat(5_000)}0\r\n\r\n`],
])('a response with many %s is read', async (_, reply) => {
  answerRaw(reply);
  expect(await post()).toBeNull();
});
