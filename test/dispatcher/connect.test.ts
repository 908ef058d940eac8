import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Connect, ConnectError, createConnect } from '../../src/webhooks/connect.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { addresses } from './harness.ts';
import { RECEIVERS, TEST_CA } from './tls-fixture.ts';

let receiver: Receiver;
let clock: ManualClock;
let names: string[] = [];
beforeEach(async () => {
  receiver = await startReceiver(status(200), RECEIVERS.valid);
  clock = createManualClock();
});
afterEach(() => receiver.close());

const connectWith = (answer: () => Promise<string[]>): Connect =>
  createConnect({
    clock,
    allow: addresses('127.0.0.0/8'),
    lookup: (name) => {
      names.push(name);
      return answer();
    },
    localAddress: null,
    ca: TEST_CA,
  });

/** The connection, or the code it failed with. */
function dial(connect: Connect, options: { hostname: string; protocol?: string }): Promise<Socket | string> {
  const { hostname, protocol = 'https:' } = options;
  return new Promise((resolve) => {
    connect({ hostname, host: hostname, protocol, port: String(receiver.port) }, (error, socket) =>
      resolve(error === null ? socket : String((error as Error & { code: string }).code)),
    );
  });
}

describe('a connection', () => {
  it('is made to the checked address with the SNI of the name, or to the next on failure', async () => {
    names = [];
    const connect = connectWith(async () => ['127.0.0.2', '127.0.0.1']); // nothing listens on the first
    const socket = (await dial(connect, { hostname: 'receiver.example.com' })) as TLSSocket;
    await expect.poll(() => receiver.connections).toBe(1); // it listens on the second only
    expect(socket.getProtocol()).toBe('TLSv1.3');
    expect(socket.servername).toBe('receiver.example.com');
    expect(names).toEqual(['receiver.example.com']);
    socket.destroy();
  });

  it('holds only a piece of what the receiver does not read', async () => {
    const silent = createServer((socket) => socket.pause());
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const options = { hostname: '127.0.0.1', host: '127.0.0.1', protocol: 'http:', port: String(port) };
    const socket = await new Promise<Socket>((resolve, reject) => {
      connectWith(async () => [])(options, (error, opened) =>
        error === null ? resolve(opened) : reject(error),
      );
    });
    socket.write(Buffer.alloc(10_000_000));
    const held = () => Reflect.get(Reflect.get(socket, '_handle') as object, 'writeQueueSize') as number;
    await expect.poll(held).toBeGreaterThan(0); // the system takes no more
    expect(held()).toBeLessThanOrEqual(8_192);
    socket.destroy();
    silent.close();
  });

  it('is refused if the certificate is issued for another name', async () => {
    expect(
      await dial(
        connectWith(async () => ['127.0.0.1']),
        { hostname: 'other.example.com' },
      ),
    ).toBe('tls');
  });

  it('is not established if any address of the name is forbidden', async () => {
    const connect = connectWith(async () => ['127.0.0.1', '10.0.0.1']);
    expect(await dial(connect, { hostname: 'receiver.example.com' })).toBe('blocked_target');
    expect(receiver.connections).toBe(0);
  });

  it('without TLS is established only to exempt addresses', async () => {
    const connect = connectWith(async () => ['93.184.216.34']);
    expect(await dial(connect, { hostname: 'receiver.example.com', protocol: 'http:' })).toBe(
      'blocked_target',
    );
  });

  it('ends when its request times out, even if the name never resolves, and needs no timer', async () => {
    const connect = connectWith(() => new Promise(() => {}));
    const ended = new Promise<Error | null>((resolve) => {
      const target = { hostname: 'receiver.example.com', host: '', protocol: 'https:', port: '443' };
      connect(target, (...[error]) => resolve(error)).cancel(new ConnectError('timeout'));
    });
    expect(await ended).toMatchObject({ code: 'timeout' });
    expect(clock.pending()).toBe(0);
  });
});
