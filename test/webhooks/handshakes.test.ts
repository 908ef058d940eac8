import { EventEmitter, once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type ConnectDeps, createConnect } from '../../src/webhooks/connect.ts';
import { createHandshakes } from '../../src/webhooks/handshakes.ts';
import { addresses } from '../dispatcher/harness.ts';
import { RECEIVERS, TEST_CA } from '../dispatcher/tls-fixture.ts';
import {
  costlyCertificates,
  costlyParameters,
  ownCurveCertificates,
} from '../support/costly-certificates.ts';
import { cpuOf } from '../support/cpu-time.ts';
import type { FloodOptions } from '../support/ticket-flood.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(options: TlsOptions): Promise<string> {
  const server = createServer(options, (socket) => socket.on('error', () => {}));
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  closers.push(() => server.close());
  await once(server, 'listening');
  return String((server.address() as AddressInfo).port);
}

const connector = (settings: Partial<ConnectDeps> = {}) =>
  createConnect({
    ...{ clock: systemClock, allow: addresses('127.0.0.0/8'), lookup: async () => ['127.0.0.1'] },
    ...{ localAddress: null, ca: TEST_CA, ...settings },
  });

/** Serves from another thread, so that all handshakes can be ready at once. */
async function serveApart(options: TlsOptions): Promise<string> {
  const thread = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const server = require('node:tls').createServer(workerData, (socket) => socket.on('error', () => {}));
     server.on('tlsClientError', () => {});
     server.listen(0, '0.0.0.0', () => parentPort.postMessage(server.address().port));`,
    { eval: true, workerData: options },
  );
  closers.push(() => void thread.terminate());
  const [port] = await once(thread, 'message');
  return String(port);
}

/** The message a connection failed with, or `connected`. */
function dial(connect: ReturnType<typeof connector>, port: string): Promise<string> {
  const hostname = 'receiver.example.com';
  return new Promise((resolve) => {
    connect({ hostname, host: hostname, protocol: 'https:', port }, (error, socket: Socket | null) => {
      socket?.destroy();
      resolve(error === null ? 'connected' : error.message);
    });
  });
}

describe('a TLS handshake', () => {
  it('ends when its certificates are longer than usual ones by far, before they are checked', async () => {
    const port = await serve(costlyCertificates(9));
    expect(await dial(connector(), port)).toContain('ERR_TLS_HANDSHAKE_SIZE');
  });

  it('takes its turn: certificates that take long to check do not add up', async () => {
    const port = await serveApart(costlyCertificates(6));
    const connect = connector();
    let outcomes: string[] = [];
    const { longestMs } = await cpuOf(async () => {
      outcomes = await Promise.all(Array.from({ length: 12 }, () => dial(connect, port)));
    });
    expect(new Set(outcomes).size).toBe(1);
    expect(outcomes[0]).toContain('CERT');
    expect(longestMs).toBeLessThan(250);
  });

  it('of many costly servers leaves half of the time to others', async () => {
    const port = await serveApart(costlyCertificates(6));
    let dialled = 0;
    const connect = connector({ lookup: async () => [`127.0.0.${++dialled}`] });
    const [before, began] = [process.threadCpuUsage(), performance.now()];
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => dial(connect, port)));
    expect(new Set(outcomes).size).toBe(1);
    expect(outcomes[0]).toContain('CERT');
    const used = process.threadCpuUsage(before);
    expect((used.user + used.system) / 1_000 / (performance.now() - began)).toBeLessThan(0.7);
  });

  it('does not use an exchange whose numbers the server chooses', async () => {
    const port = await serve({
      ...costlyCertificates(0),
      ...{ maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: costlyParameters() },
    });
    expect(await dial(connector({ lenient: true }), port)).toContain('HANDSHAKE_FAILURE');
  });

  const WAYS = [
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['AES 256', { ciphers: 'TLS_AES_256_GCM_SHA384' }],
    ['AES 128', { ciphers: 'TLS_AES_128_GCM_SHA256' }],
    ['ChaCha20', { ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }],
    ['a second hello', { ecdhCurve: 'P-521' }],
  ] satisfies [string, TlsOptions][];

  it.each(WAYS)('with %s ends before OpenSSL reads a key on a curve of its own', async (_, options) => {
    const port = await serve({ ...ownCurveCertificates(1), ...options });
    expect(await dial(connector({ lenient: true }), port)).toContain('ERR_TLS_OWN_CURVE');
  });

  it.each(WAYS)('with %s succeeds if its keys are on curves with a name', async (_, options) => {
    const port = await serve({ ...RECEIVERS.valid, ...options });
    expect(await dial(connector({ lenient: true }), port)).toBe('connected');
  });

  it('of TLS 1.2 is the only one of its connection', async () => {
    const server = createServer({ ...RECEIVERS.valid, maxVersion: 'TLSv1.2' }, (socket) => {
      socket.on('error', () => {}).once('data', () => socket.renegotiate({}, () => {}));
    });
    server.listen(0, '127.0.0.1');
    closers.push(() => server.close());
    await once(server, 'listening');
    const hostname = 'receiver.example.com';
    const port = String((server.address() as AddressInfo).port);
    const error = await new Promise((resolve, reject) => {
      const target = { hostname, host: hostname, protocol: 'https:', port };
      connector({ lenient: true })(target, (fault, socket: Socket | null) => {
        if (socket === null) return reject(fault);
        socket.on('error', resolve).resume().write('request');
        setTimeout(resolve, 3_000, 'the connection goes on').unref();
      });
    });
    expect(error).toMatchObject({ code: 'ERR_TLS_ANOTHER_HANDSHAKE' });
  });

  it('of TLS 1.2 succeeds where it is allowed', async () => {
    const port = await serve({ ...RECEIVERS.valid, maxVersion: 'TLSv1.2' });
    expect(await dial(connector({ lenient: true }), port)).toBe('connected');
    expect(await dial(connector(), port)).toContain('PROTOCOL_VERSION');
  });
});

describe('turns of handshakes', () => {
  /** Handshakes with servers at `127.0.0.n`, whose steps take as long as their bytes, on a clock of their own. */
  function stage() {
    let now = 0;
    const timers: { at: number; run: () => void }[] = [];
    const after = (ms: number, run: () => void) => {
      timers.push({ at: now + ms, run });
      return { cancel: () => {} };
    };
    const handshakeOf = createHandshakes({ monotonic: () => now, after });
    const passed: string[] = [];
    const begun: string[] = [];
    const connected = (owner: string, n: number) => {
      const tcp = Object.assign(new Duplex({ read() {} }), { remoteAddress: `127.0.0.${n}` });
      return { tcp, stream: handshakeOf(tcp as unknown as Socket, owner) };
    };
    const open = (owner: string, n: number, ms: number) => {
      const { tcp, stream } = connected(owner, n);
      const client = new EventEmitter();
      stream.serve(client as TLSSocket);
      stream.on('data', () => {
        passed.push(`${owner}${n}`);
        now += ms;
      });
      return { tcp, stream, secure: () => void client.emit('secureConnect') };
    };
    return {
      passed,
      begun,
      open,
      begin(owner: string, n: number, ms: number) {
        const { tcp, stream } = connected(owner, n);
        stream.begin(() => {
          begun.push(`${owner}${n}`);
          now += ms;
        });
        return tcp;
      },
      receive(owner: string, n: number, ms: number, { isGood = false, pieces = 1 } = {}) {
        const { tcp, stream, secure } = open(owner, n, ms);
        if (isGood) stream.on('data', secure);
        for (let piece = 0; piece < pieces; piece++) setImmediate(() => tcp.push('bytes'));
      },
      /** Lets everything that waits have its turn. */
      async run() {
        for (let quiet = 0; quiet < 5; quiet++) {
          await nextTurn();
          const timer = quiet === 4 ? timers.shift() : undefined;
          if (timer === undefined) continue;
          now = Math.max(now, timer.at);
          timer.run();
          quiet = -1;
        }
      },
    };
  }

  it('begin in turns, however many connections are established together', async () => {
    const { begin, begun } = stage();
    for (let n = 1; n <= 20; n++) begin('a', n, 3);
    expect(begun).toEqual([]);
    await nextTurn();
    expect(begun.length).toBeLessThanOrEqual(2);
    await expect.poll(() => begun.length).toBe(20);
  });

  it('do not begin on a connection that is closed before', async () => {
    const { begin, run, begun } = stage();
    begin('a', 1, 0).destroy();
    begin('a', 2, 0);
    await run();
    expect(begun).toEqual(['a2']);
  });

  it.each<[string, 'error' | 'end', (tcp: Duplex) => void]>([
    ['reset', 'error', (tcp) => tcp.destroy(new Error('reset'))],
    ['ended', 'end', (tcp) => tcp.push(null)],
  ])('close in turns, however many connections are %s together', async (_, event, close) => {
    const { open } = stage();
    let closed = 0;
    const all = Array.from({ length: 20 }, (_, n) => open('a', n, 0));
    for (const { tcp, stream, secure } of all) {
      secure();
      stream.on(event, () => {
        for (const until = performance.now() + 3; performance.now() < until; );
        closed++;
      });
      close(tcp);
    }
    await nextTurn();
    await nextTurn();
    expect(closed).toBeGreaterThan(0);
    expect(closed).toBeLessThan(10);
    await expect.poll(() => closed).toBe(20);
  });

  it('rotate between owners, so that the costly servers of one do not hold up a new one of another', async () => {
    const { receive, run, passed } = stage();
    for (let n = 1; n <= 50; n++) receive('a', n, 50);
    receive('b', 99, 1, { isGood: true });
    await run();
    expect(passed).toHaveLength(51);
    expect(passed.slice(0, 2)).toContain('b99');
  });

  it('rotate between owners among servers whose last step took long, too', async () => {
    const { receive, run, passed } = stage();
    receive('b', 99, 50);
    for (let n = 1; n <= 50; n++) receive('a', n, 50);
    await run();
    passed.length = 0;
    for (let n = 1; n <= 50; n++) receive('a', n, 50);
    receive('b', 99, 1, { isGood: true });
    await run();
    expect(passed.slice(0, 2)).toContain('b99');
  });

  it('are not delayed after a handshake that took long and succeeded, as on a busy machine', async () => {
    const { receive, run, passed } = stage();
    receive('a', 1, 50, { isGood: true });
    await run();
    for (let n = 2; n <= 5; n++) receive('a', n, 50);
    receive('a', 1, 1, { isGood: true });
    await run();
    expect(passed.slice(1, 3)).toContain('a1');
  });

  it('are not for the response: held behind session tickets, it may be longer than a handshake', async () => {
    const { open, run, passed } = stage();
    const { tcp, stream, secure } = open('a', 1, 50);
    stream.on('error', (error) => passed.push(error.message));
    tcp.push('certificates');
    await nextTurn();
    await nextTurn(); // They took long: what follows waits for a pause.
    tcp.push('tickets');
    await nextTurn();
    secure();
    tcp.push(Buffer.alloc(15_000, 'r'));
    await run();
    expect(passed).toEqual(['a1', 'a1', 'a1']);
  });

  it('are few: what arrives meanwhile is passed on together', async () => {
    const { receive, run, passed } = stage();
    for (let n = 1; n <= 9; n++) receive('a', n, 1, { pieces: 3 });
    await run();
    expect(passed.slice(0, 4)).toEqual(['a1', 'a1', 'a1', 'a2']);
  });
});

describe('session tickets of many receivers at once', () => {
  it('take turns: reading them does not add up', async () => {
    const options = { ...RECEIVERS.valid, connections: 30, records: 16 } satisfies FloodOptions;
    const thread = new Worker(new URL('../support/ticket-flood.ts', import.meta.url), {
      workerData: options,
    });
    closers.push(() => void thread.terminate());
    const [{ port }] = await once(thread, 'message');
    const hostname = 'receiver.example.com';
    const connect = connector();
    const received = (socket: Socket) =>
      new Promise<number>((resolve) => {
        let bytes = 0;
        socket.on('data', (data) => {
          bytes += data.length;
        });
        socket.once('end', () => {
          socket.destroy();
          resolve(bytes);
        });
        socket.write('request');
      });
    const target = { hostname, host: hostname, protocol: 'https:', port: String(port) };
    const dialled = () =>
      new Promise<Socket>((resolve, reject) => {
        connect(target, (error, socket) => (error === null ? resolve(socket) : reject(error)));
      });
    const sockets = await Promise.all(Array.from({ length: options.connections }, dialled));
    let bytes: number[] = [];
    const { longestMs } = await cpuOf(async () => {
      bytes = await Promise.all(sockets.map(received));
    });
    expect(bytes).toEqual(sockets.map(() => 0));
    expect(longestMs).toBeLessThan(250);
  }, 30_000);
});

describe('a response that is read late', () => {
  it.each([
    ['closed', (socket: TLSSocket, sent: Buffer) => void socket.end(sent)],
    [
      'reset',
      (socket: TLSSocket, sent: Buffer) =>
        void socket.write(sent, () => Object(socket)._parent.resetAndDestroy()),
    ],
  ])(
    'arrives whole, although the server has %s the connection meanwhile',
    async (_, answer) => {
      const sent = Buffer.alloc(12_000, 'r');
      const server = createServer(RECEIVERS.valid, (socket) => {
        socket.on('error', () => {}).once('data', () => answer(socket, sent));
      });
      server.listen(0, '127.0.0.1');
      closers.push(() => server.close());
      await once(server, 'listening');
      const port = String((server.address() as AddressInfo).port);
      const hostname = 'receiver.example.com';
      const socket = await new Promise<Socket>((resolve, reject) => {
        connector()({ hostname, host: hostname, protocol: 'https:', port }, (error, opened: Socket | null) =>
          opened === null ? reject(error) : resolve(opened),
        );
      });
      const received: Buffer[] = [];
      socket.write('request');
      socket.pause();
      await new Promise((resolve) => setTimeout(resolve, 200));
      socket.on('data', (bytes) => received.push(bytes)).resume();
      await once(socket, 'end');
      expect(Buffer.concat(received).equals(sent)).toBe(true);
    },
    5_000,
  );
});
