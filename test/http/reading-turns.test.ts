import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { handleInOrder, readInTurns } from '../../src/http/reading-turns.ts';
import { systemClock } from '../../src/lib/clock.ts';

/** Advances by a millisecond on each read. */
function tickingClock() {
  let ms = 0;
  return { monotonic: () => ++ms };
}

async function listen(handle: RequestListener, clock = tickingClock()): Promise<Server> {
  const server = createServer(handle);
  readInTurns(server, clock, handleInOrder(server));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

async function dial(server: Server): Promise<Socket> {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  const socket = connect(address.port, '127.0.0.1');
  socket.on('error', () => {}); // closed before everything was written
  await once(socket, 'connect');
  return socket;
}

/** Returns everything received until the connection is closed. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

const get = (path: string, last = false) =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${last ? 'connection: close\r\n' : ''}\r\n`;

test('no event loop turn parses everything that many connections pipelined', async () => {
  let count = 0;
  let most = 0;
  const server = await listen((_request, response) => {
    count++;
    response.end();
  });
  let seen = 0;
  let over = false;
  const look = () => {
    most = Math.max(most, count - seen);
    seen = count;
    if (!over) setImmediate(look);
  };
  look();
  const sockets = await Promise.all(Array.from({ length: 24 }, () => dial(server)));
  const bytes = get('/').repeat(1_000) + get('/', true);
  const ended = sockets.map((socket) => readAll(socket));
  for (const socket of sockets) socket.write(bytes);
  const said = await Promise.all(ended);
  over = true;
  expect(said.map((text) => text.match(/HTTP\/1\.1 200/g)?.length)).toEqual(Array(24).fill(1_001));
  // A slice holds 70 of these requests; without slicing, Node handles 24 thousand in a turn or two.
  expect(most).toBeLessThan(1_000);
});

test('a small request does not wait for a large one', async () => {
  const order: string[] = [];
  const server = await listen((request, response) => {
    request.resume();
    request.on('end', () => {
      order.push(request.url ?? '');
      response.end();
    });
  });
  const [large, small] = await Promise.all([dial(server), dial(server)]);
  const body = Buffer.alloc(600_000, 'a');
  const ended = Promise.all([readAll(large), readAll(small)]);
  large.write(
    `POST /large HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  large.write(body);
  small.write(get('/small', true));
  await ended;
  expect(order).toEqual(['/small', '/large']);
});

/** A server that counts the requests begun and the bytes that arrived in chunks. */
async function listenForChunks(clock: { monotonic(): number }) {
  const seen = { begun: 0, chunked: 0, chunkedAtLastHead: 0 };
  const server = await listen((request, response) => {
    seen.begun++;
    seen.chunkedAtLastHead = seen.chunked;
    request.on('data', (bytes: Buffer) => {
      if (request.headers['transfer-encoding'] !== undefined) seen.chunked += bytes.length;
    });
    request.on('end', () => response.end());
  }, clock);
  /** Connections that each send a request with `count` chunks of a byte at once. */
  const flood = async (connections: number, count: number, chunk = '1\r\n \r\n') => {
    const sockets = await Promise.all(Array.from({ length: connections }, () => dial(server)));
    const open = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    await expect.poll(open).toBeGreaterThanOrEqual(connections);
    const head = 'POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    return () => sockets.map((socket) => socket.resume().write(head + chunk.repeat(count)));
  };
  return { server, seen, flood };
}

test('many small chunks are parsed after the heads of requests', async () => {
  let ms = 0;
  const { seen, flood } = await listenForChunks({ monotonic: () => (ms += 0.05) });
  const send = await flood(40, 300);
  send();
  await expect.poll(() => seen.begun).toBe(40);
  expect(seen.chunkedAtLastHead).toBeLessThan((40 * 300) / 2);
  await expect.poll(() => seen.chunked).toBe(40 * 300);
});

test('a body of known length does not wait for bodies in small chunks', async () => {
  const { server, seen, flood } = await listenForChunks(tickingClock());
  const [send, socket] = await Promise.all([flood(40, 20_000), dial(server)]);
  send();
  const ended = readAll(socket);
  socket.write(
    `POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 30000\r\n\r\n${'a'.repeat(30_000)}`,
  );
  expect(await ended).toContain('200 OK');
  expect(seen.chunked).toBeLessThan(300_000);
  await expect.poll(() => seen.chunked, { timeout: 20_000 }).toBe(40 * 20_000);
});

/** Posts a body while 40 connections send small chunks, and returns how many bytes of chunks were parsed until the response. */
async function chunkedBefore(head: string, body: string): Promise<number> {
  const { server, seen, flood } = await listenForChunks(tickingClock());
  const [send, socket] = await Promise.all([flood(40, 20_000), dial(server)]);
  send();
  const ended = readAll(socket);
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${head}\r\n\r\n${body}`);
  expect(await ended).toContain('200 OK');
  return seen.chunked;
}

test('a request on a connection that has had one before does not wait for those of new connections', async () => {
  const order: string[] = [];
  let ms = 0;
  const server = await listen(
    (request, response) => {
      order.push(request.url ?? '');
      response.end();
    },
    // Each slice takes all of its turn.
    { monotonic: () => (ms += 3) },
  );
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  const open = await dial(server);
  open.resume().write(get('/first'));
  await expect.poll(() => order).toEqual(['/first']);
  await Promise.all(Array.from({ length: 40 }, () => dial(server)));
  await expect.poll(() => accepted.length).toBe(41);
  // All data arrives in one turn of the event loop.
  for (const socket of accepted.slice(1)) socket.emit('data', Buffer.from(get('/new')));
  accepted[0]?.emit('data', Buffer.from(get('/second')));
  await expect.poll(() => order.length).toBe(42);
  expect(order.indexOf('/second')).toBeLessThan(10);
});

/** A server and `count` open connections to it, each of which has sent this. */
async function listenToMany(count: number, sent: string, clock: { monotonic(): number }) {
  const order: string[] = [];
  const accepted: Socket[] = [];
  const server = await listen((request, response) => {
    request.resume().on('end', () => {
      order.push(request.url ?? '');
      response.end();
    });
  }, clock);
  server.on('connection', (socket) => accepted.push(socket));
  let requests = 0;
  server.on('request', () => requests++);
  for (let n = 0; n < count; n++) (await dial(server)).resume().write(sent);
  await expect.poll(() => accepted.length).toBe(count);
  return { server, order, accepted, requests: () => requests };
}

test('a request does not wait for the bodies of others', async () => {
  let ms = 0;
  const head = 'POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n';
  // Each slice takes all of its turn.
  const many = await listenToMany(40, head, { monotonic: () => (ms += 6) });
  await expect.poll(many.requests).toBe(40);
  const open = await dial(many.server);
  open.resume().write(get('/first'));
  await expect.poll(() => many.order).toEqual(['/first']);
  // All data arrives in one turn of the event loop.
  for (const socket of many.accepted.slice(0, 40)) socket.emit('data', Buffer.from('a'.repeat(9)));
  many.accepted[40]?.emit('data', Buffer.from(get('/second')));
  await expect.poll(() => many.order.length).toBe(42);
  expect(many.order.indexOf('/second')).toBeLessThan(10);
});

test('requests of new connections and of known ones alternate', async () => {
  let ms = 0;
  const many = await listenToMany(40, get('/first'), { monotonic: () => (ms += 0.2) });
  await expect.poll(() => many.order.length).toBe(40);
  await dial(many.server);
  await expect.poll(() => many.accepted.length).toBe(41);
  for (const socket of many.accepted.slice(0, 40)) socket.emit('data', Buffer.from(get('/known')));
  many.accepted[40]?.emit('data', Buffer.from(get('/new')));
  await expect.poll(() => many.order.length).toBe(81);
  expect(many.order.indexOf('/new') - 40).toBeLessThan(25);
});

test('in turns that take long anyway, more is parsed', async () => {
  let ms = 0;
  const many = await listenToMany(40, get('/first'), { monotonic: () => ++ms });
  await expect.poll(() => many.order.length).toBe(40);
  let turns = 0;
  function spend(): void {
    ms += 20;
    turns++;
    if (many.order.length < 80) setImmediate(spend);
  }
  for (const socket of many.accepted) socket.emit('data', Buffer.from(get('/second')));
  setImmediate(spend);
  await expect.poll(() => many.order.length).toBe(80);
  expect(turns).toBeLessThan(12);
});

test('a body in large chunks does not wait for bodies in small chunks', async () => {
  const chunks = `1f40\r\n${'\r\n\r\n'.repeat(2_000)}\r\n`.repeat(8);
  const own = 8 * 8_000;
  expect((await chunkedBefore('transfer-encoding: chunked', `${chunks}0\r\n\r\n`)) - own).toBeLessThan(
    200_000,
  );
});

test('a long head does not wait for bodies in small chunks', async () => {
  const head = `x-long: ${'a'.repeat(12_000)}\r\ncontent-length: 2`;
  expect(await chunkedBefore(head, '{}')).toBeLessThan(200_000);
});

test('small chunks are merged before Node parses them, and the body stays the same', async () => {
  const received: Buffer[] = [];
  const server = await listen((request, response) => {
    request.on('data', (bytes: Buffer) => received.push(bytes));
    request.on('end', () => response.end());
  });
  const socket = await dial(server);
  const ended = readAll(socket);
  const body = Array.from({ length: 30_000 }, (_, n) => 'abc\r\n01'.charAt(n % 7)).join('');
  const chunks = Array.from(body, (byte, n) => `${n % 100 === 0 ? '01;a=b' : '1'}\r\n${byte}\r\n`).join('');
  socket.write(
    `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n${get('/', true)}`,
  );
  expect((await ended).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  expect(Buffer.concat(received).toString()).toBe(body);
  expect(received.length).toBeLessThan(body.length / 5);
});

test('while connections arrive, turns are short: Node accepts one per turn', async () => {
  let ms = 0;
  const { server, seen, flood } = await listenForChunks({ monotonic: () => (ms += 0.05) });
  const send = await flood(40, 3_000, '1;a=b\r\n \r\n'); // not merged
  let accepted = 0;
  let atFirst = 0;
  let atLast = 0;
  server.on('connection', () => {
    accepted++;
    if (accepted === 1) atFirst = seen.chunked;
    atLast = seen.chunked;
  });
  send();
  await expect.poll(() => seen.chunked).toBeGreaterThan(0);
  const { port } = server.address() as AddressInfo;
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  await expect.poll(() => accepted, { timeout: 10_000 }).toBe(200);
  for (const socket of sockets) socket.destroy();
  expect(atLast - atFirst).toBeLessThan(40_000);
});

test('a body that is read slowly arrives complete, and so does the next request', async () => {
  const body = Buffer.from(Array.from({ length: 700_000 }, (_, n) => n % 251));
  const hashes: string[] = [];
  const server = await listen(async (request, response) => {
    const hash = createHash('sha256');
    for await (const chunk of request) {
      hash.update(chunk);
      await new Promise(setImmediate);
    }
    hashes.push(hash.digest('hex'));
    response.end(request.url);
  }, systemClock);
  const socket = await dial(server);
  const ended = readAll(socket);
  socket.write(
    Buffer.concat([
      Buffer.from(`POST /first HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`),
      body,
      Buffer.from(get('/second', true)),
    ]),
  );
  expect(await ended).toMatch(/\/first.*\/second/s);
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  expect(hashes.toSorted()).toEqual([hashOf(body), hashOf(Buffer.alloc(0))].toSorted());
});

test('data sent before a connection ends is parsed before the end is handled', async () => {
  const server = await listen((request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${length} bytes`));
  });
  const socket = await dial(server);
  const ended = readAll(socket);
  socket.end(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 50000\r\n\r\n${'a'.repeat(50_000)}`);
  expect(await ended).toContain('50000 bytes');
});

test('no data of an aborted connection reaches another one', async () => {
  const urls = new Set<string>();
  const server = await listen((request, response) => {
    urls.add(request.url ?? '');
    request.resume();
    if (request.url === '/broken') request.socket.destroy();
    else response.end();
  });
  for (let round = 0; round < 20; round++) {
    const [broken, sound] = await Promise.all([dial(server), dial(server)]);
    const ended = Promise.all([readAll(broken), readAll(sound)]);
    broken.write(`${get('/broken')}${'GET /leaked HTTP/1.1\r\n\r\n'.repeat(2_000)}`);
    sound.write(get('/sound').repeat(500) + get('/sound', true));
    const [, said] = await ended;
    expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(501);
  }
  // The rest of the slice during which its connection was closed is parsed with it.
  urls.delete('/leaked');
  expect([...urls].sort()).toEqual(['/broken', '/sound']);
});

test('bytes that are not HTTP are reported once, and nothing after them is parsed', async () => {
  let errors = 0;
  let requests = 0;
  const server = await listen((_request, response) => {
    requests++;
    response.end();
  });
  server.on('clientError', (_error, socket) => {
    errors++;
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
  const socket = await dial(server);
  const ended = readAll(socket);
  socket.end(`nonsense\r\n\r\n${get('/').repeat(1_000)}`);
  expect(await ended).toContain('400 Bad Request');
  expect({ errors, requests }).toEqual({ errors: 1, requests: 0 });
});

test('while a request is in progress, at most two further ones of its connection are parsed', async () => {
  let begun = 0;
  let parsed = 0;
  const finish: (() => void)[] = [];
  const server = await listen((_request, response) => {
    begun++;
    finish.push(() => response.end());
  });
  server.prependListener('request', () => parsed++);
  const socket = await dial(server);
  const said = readAll(socket);
  socket.write(get('/').repeat(59) + get('/', true));
  for (let turn = 0; turn < 300; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (begun > 0) expect(parsed - begun).toBeLessThanOrEqual(2);
    if (turn > 50) finish.shift()?.();
  }
  while (begun < 60 || finish.length > 0) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(parsed - begun).toBeLessThanOrEqual(2);
    finish.shift()?.();
  }
  expect((await said).match(/HTTP\/1\.1 200/g)).toHaveLength(60);
});

test('a body of known length is not cut into slices, and what follows it is', async () => {
  const clock = tickingClock();
  const received: string[] = [];
  let reads = Number.NaN;
  const server = await listen((request, response) => {
    const hash = createHash('sha256');
    request.on('data', (bytes) => hash.update(bytes));
    request.on('end', () => {
      received.push(hash.digest('hex'));
      if (received.length === 1) reads = clock.monotonic();
      response.end();
    });
  }, clock);
  const socket = await dial(server);
  const said = readAll(socket);
  const body = Buffer.alloc(1024 * 1024, 'GET / HTTP/1.1\r\n\r\n');
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`);
  socket.write(body);
  socket.write(get('/').repeat(20) + get('/', true));
  expect((await said).match(/HTTP\/1\.1 200/g)).toHaveLength(22);
  expect(received[0]).toBe(createHash('sha256').update(body).digest('hex'));
  expect(reads).toBeLessThan(200); // two per slice
});

test('connections that end together with incomplete requests are handled in turns', async () => {
  const server = await listen((_request, response) => response.end());
  let ended = 0;
  server.on('clientError', (_error, socket) => {
    ended++;
    socket.destroy();
  });
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  const sockets = await Promise.all(Array.from({ length: 300 }, () => dial(server)));
  for (const socket of sockets) socket.write('GET / HT');
  await expect.poll(() => accepted.filter(({ bytesRead }) => bytesRead > 0)).toHaveLength(300);
  const all = Promise.all(sockets.map(readAll));
  let most = 0;
  for (const socket of sockets) socket.end();
  while (ended < 300) {
    const before = ended;
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, ended - before);
  }
  await all;
  expect(most).toBeLessThan(20);
});

test('after the response, the rest of a body in small chunks is not parsed, and the connection is closed', async () => {
  let parsed = 0;
  const server = await listen((request, response) => {
    request.on('data', (bytes: Buffer) => {
      parsed += bytes.length;
    });
    response.statusCode = 401;
    response.end('no');
  });
  const socket = await dial(server);
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';
  socket.write(head + '1\r\na\r\n'.repeat(20_000));
  const said = await readAll(socket); // the client does not end the connection
  expect(said).toMatch(/^HTTP\/1\.1 401 .*no$/s);
  expect(parsed).toBeLessThan(5_000);
});

test('after the response, a body in large chunks is read to its end, and the next request is handled', async () => {
  const paths: (string | undefined)[] = [];
  const server = await listen((request, response) => {
    paths.push(request.url);
    response.end();
  });
  const socket = await dial(server);
  const ended = readAll(socket);
  const chunk = `1000\r\n${'a'.repeat(0x1000)}\r\n`;
  socket.write(`POST /first HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(40)}`);
  socket.write(`0\r\n\r\n${get('/second', true)}`);
  await ended;
  expect(paths).toEqual(['/first', '/second']);
});

test('a connection whose data waits is not read on, byte by byte', async () => {
  const begun: (() => void)[] = [];
  const server = await listen((request, response) => {
    if (request.url === '/other') response.end();
    else begun.push(() => response.end());
  });
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  const slow = (await dial(server)).setNoDelay();
  const answered = readAll(slow);
  slow.write(get('/'));
  await expect.poll(() => begun.length).toBe(1);
  slow.write(get('/').repeat(3)); // wait for the first one, and their connection with them
  const received = () => accepted[0]?.bytesRead ?? 0;
  await expect.poll(received).toBe(4 * get('/').length);
  for (const byte of get('/', true)) {
    slow.write(byte);
    await readAll((await dial(server)).end(get('/other', true)));
  }
  expect(received()).toBeLessThanOrEqual(4 * get('/').length + 2);
  for (let n = 0; n < 5; n++) {
    await expect.poll(() => begun.length).toBe(n + 1);
    begun[n]?.();
  }
  expect((await answered).match(/HTTP\/1\.1 200/g)).toHaveLength(5);
  expect(received()).toBe(4 * get('/').length + get('/', true).length);
});

test('what a connection sends after its last response is dropped in turns', async () => {
  const server = await listen(() => {});
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  server.on('clientError', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const wrong = (await dial(server)).setNoDelay();
  const answered = once(wrong, 'data');
  wrong.write('FOO bar\r\n\r\n');
  await answered;
  const paused: boolean[] = [];
  const [socket] = accepted;
  socket?.on('data', () => paused.push(socket.isPaused()));
  const sent = 40 * 65_536;
  const before = socket?.bytesRead ?? 0;
  wrong.write(Buffer.alloc(sent));
  await expect.poll(() => (socket?.bytesRead ?? 0) - before).toBe(sent); // none of it keeps the client waiting
  expect(paused.length).toBeGreaterThan(1);
  expect(paused).not.toContain(false);
  wrong.destroy();
});

test('a connection is closed whose client has ended its side while a body is read late', async () => {
  let bytes = 0;
  const server = await listen((request, response) => {
    request.on('end', () => response.end());
    setTimeout(() => request.on('data', (data: Buffer) => (bytes += data.length)), 50);
  });
  const client = await dial(server);
  const post = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 20000\r\n\r\n${'x'.repeat(20_000)}`;
  client.end(post.repeat(2));
  await readAll(client);
  expect(bytes).toBe(20_000);
});
