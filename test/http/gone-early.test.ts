import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { joinChunks } from '../../src/http/chunked-body.ts';
import { closeFailedInTurns } from '../../src/http/connections.ts';
import { addErrorHandler } from '../../src/http/errors.ts';
import { LOAD_LIMITS } from '../../src/http/load.ts';
import { csrfOf, signedIn } from '../dashboard/browser-session.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';

/** A server whose store looks up keys and users only when told to, as slowly as a database server may. */
async function buildSlowApp() {
  let found = Promise.withResolvers<void>();
  found.resolve();
  let sought = 0;
  let listed = 0;
  async function seek<T>(look: () => Promise<T>): Promise<T> {
    sought++;
    await found.promise;
    return look();
  }
  const t = await buildTestApp({
    loadLimits: { ...LOAD_LIMITS, least: 0 },
    wrapStore: (store) => ({
      ...store,
      findKey: (hash) => seek(() => store.findKey(hash)),
      usersByEmail: (...args) => seek(() => store.usersByEmail(...args)),
      listSignals: (...args) => {
        listed++;
        return store.listSignals(...args);
      },
    }),
  });
  onTestFinished(() => t.app.close());
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  return {
    t,
    /** From now on, nothing is found until the returned function is called. */
    hold(): () => void {
      found = Promise.withResolvers();
      sought = 0;
      return found.resolve;
    },
    sought: () => sought,
    listed: () => listed,
  };
}

async function dial({ app }: { app: Pick<TestApp['app'], 'server'> }): Promise<Socket> {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the app does not listen');
  const socket = connect(address.port, '127.0.0.1').resume();
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Disconnects the clients, and waits until the server has noticed. */
async function hangUp({ app }: Pick<TestApp, 'app'>, sockets: readonly Socket[]): Promise<void> {
  for (const socket of sockets) socket.resetAndDestroy();
  const count = () => new Promise((resolve) => app.server.getConnections((_, open) => resolve(open)));
  await expect.poll(count).toBe(0);
}

const flights = async ({ app }: TestApp) =>
  /requests_in_flight (-?\d+)/.exec((await app.inject('/metrics')).body)?.[1];

test('requests whose clients disconnect during authentication do not count as in progress for ever', async () => {
  const { t, hold, sought, listed } = await buildSlowApp();
  const sockets = await Promise.all(Array.from({ length: 4 }, () => dial(t)));
  const head = `HTTP/1.1\r\nhost: a\r\nauthorization: ${t.auth.authorization}\r\n`;
  const find = hold();
  for (const [n, socket] of sockets.entries()) {
    const post = `POST /v1/icps ${head}content-type: application/json\r\ncontent-length: 12\r\n\r\n{"name":"x"}`;
    socket.write(n % 2 === 0 ? `GET /v1/signals ${head}\r\n` : post);
  }
  await expect.poll(sought).toBe(4);
  await hangUp(t, sockets);
  find();
  const list = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(list.statusCode).toBe(200);
  expect(await flights(t)).toBe('0');
  expect(listed()).toBe(1);
});

test('a refused log-in is in the audit log even if the client disconnects before the response', async () => {
  const { t, hold, sought } = await buildSlowApp();
  await signedIn(t, t.tenant.id);
  const page = await t.app.inject('/dashboard/login');
  const cookie = page.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const fields = { _csrf: csrfOf(page.body), email: 'owner@example.com', password: 'not the password' };
  const form = new URLSearchParams(fields).toString();
  const head = `POST /dashboard/login HTTP/1.1\r\nhost: a\r\norigin: ${BASE_URL}\r\ncookie: ${cookie}\r\n`;
  const socket = await dial(t);
  const find = hold();
  socket.write(
    `${head}content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`,
  );
  await expect.poll(sought).toBe(1);
  await hangUp(t, [socket]);
  find();
  const all = { actor: null, action: null, from: null, to: null, limit: 10, after: null };
  const actions = async () => (await t.store.pageAudit(t.tenant.id, all)).rows.map(({ action }) => action);
  await expect.poll(actions).toContain('session.refused');
});

const BEGUN = {
  'of known length': 'content-length: 900\r\n\r\n{"a',
  'in chunks': 'transfer-encoding: chunked\r\n\r\n3\r\n{"a\r\n',
};

test.each(Object.entries(BEGUN))(
  'nothing is rendered for a client that disconnects within a body %s',
  async (_, begun) => {
    const app = Fastify();
    onTestFinished(() => app.close());
    const rendered: unknown[] = [];
    const handler: Parameters<typeof addErrorHandler>[1] = (error, _request, reply) => {
      rendered.push(error);
      return reply.send('rendered');
    };
    let failed = 0;
    app.addHook('onError', async () => void failed++);
    app.addHook('onSend', async () => void rendered.push('onSend'));
    addErrorHandler(app, handler);
    joinChunks(app);
    app.post('/', async () => 'read');
    app.register(async (face) => {
      face.setErrorHandler(handler);
      face.post('/face', async () => 'read');
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    for (const [n, path] of ['/', '/face'].entries()) {
      const socket = await dial({ app });
      const read = once(app.server, 'request');
      socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${begun}`);
      await read;
      await hangUp({ app }, [socket]);
      await expect.poll(() => failed).toBe(n + 1);
    }
    expect(rendered).toEqual([]);
  },
);

test('connections that fail together are closed in turns of the event loop', async () => {
  const server = createServer().removeAllListeners('connection');
  let ms = 0;
  closeFailedInTurns(server, { monotonic: () => ms++ });
  let closed = 0;
  for (let n = 0; n < 40; n++) {
    const socket = new Socket();
    socket.on('error', () => {}).on('close', () => closed++);
    server.emit('connection', socket);
    socket.destroy(new Error('ECONNRESET'));
    expect(socket.destroyed).toBe(true);
  }
  const perTurn: number[] = [];
  for (let turn = 0; turn < 100 && closed < 40; turn++) {
    const before = closed;
    await nextTurn();
    perTurn.push(closed - before);
  }
  expect(closed).toBe(40);
  expect(Math.max(...perTurn)).toBeLessThan(15);
});

test('a connection that is closed without a failure is closed at once', async () => {
  const server = createServer().removeAllListeners('connection');
  const failing = Array.from({ length: 20 }, () => new Socket().on('error', () => {}));
  const quiet = new Socket();
  let ms = 0;
  closeFailedInTurns(server, { monotonic: () => ms++ });
  for (const socket of [...failing, quiet]) server.emit('connection', socket);
  for (const socket of failing) socket.destroy(new Error('ECONNRESET'));
  quiet.destroy();
  await nextTurn();
  expect([quiet.closed, failing.at(-1)?.closed]).toEqual([true, false]);
});

test('of failed connections that are closed later, no further data is read', async () => {
  const server = createServer().removeAllListeners('connection');
  onTestFinished(() => void server.close());
  let ms = 0;
  closeFailedInTurns(server, { monotonic: () => (ms += 1_000) });
  const failed = new Set<Socket>();
  server.on('connection', (socket) => {
    failed.add(socket.on('error', () => {}));
    // Its data is read in the turn in which that of the others is: Node throws on data of a destroyed connection.
    socket.on('data', () => {
      for (const each of failed) each.destroy(new Error('EPIPE'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clients = await Promise.all(Array.from({ length: 20 }, () => dial({ app: { server } })));
  await expect.poll(() => failed.size).toBe(20);
  for (const client of clients) client.write('data');
  await expect.poll(() => [...failed].every(({ closed }) => closed)).toBe(true);
});
