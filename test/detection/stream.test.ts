import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { sitesWith } from '../../src/detection/reader.ts';
import { readJetstream } from '../../src/detection/sources/bluesky.ts';
import { createWeb } from '../../src/detection/web.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { START_POSITION } from '../../src/model/constants.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { DOCUMENTS, parse, settings } from './harness.ts';

/** A text message as sent by a server (RFC 6455, section 5.2). */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const head = body.length < 126 ? [0x81, body.length] : [0x81, 126, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from(head), body]);
}

/** A Jetstream server that sends `messages` and keeps the connection open, or rejects it. */
async function startStream(messages: string[] | null) {
  const asked: { path: string; agent: string }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => void response.writeHead(404).end());
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('upgrade', (request, socket) => {
    asked.push({ path: request.url ?? '', agent: request.headers['user-agent'] ?? '' });
    if (messages === null) return void socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    const head = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), ...messages.map(frame)]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { asked, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const US = T0 * 1_000;
const post = (rkey: string, timeUs: number, text: string, operation = 'create') =>
  JSON.stringify({
    did: 'did:plc:a',
    time_us: timeUs,
    kind: 'commit',
    commit: {
      operation,
      collection: 'app.bsky.feed.post',
      rkey,
      record: { $type: 'app.bsky.feed.post', text, createdAt: new Date(timeUs / 1_000).toISOString() },
    },
  });

function read(origin: string, cursor: string | null) {
  const web = createWeb({
    clock: createManualClock(T0),
    documents: DOCUMENTS,
    baseUrl: 'https://signals.example.com',
    allowTargets: createAddressSet([parseCidr('127.0.0.0/8')].filter((cidr) => cidr !== null)),
  });
  const journey = { owner: '', signal: null, asked: 0 };
  return readJetstream({
    source: aSource({ kind: 'bluesky', settings: settings({ query: 'crm "field service"' }) }),
    position: { ...START_POSITION, cursor },
    now: T0,
    oldest: 0,
    web: {
      read: web.read,
      hold: web.hold,
      listen: (address, limitMs, take) => web.listen(address, limitMs, take, journey),
    },
    sites: sitesWith({ bluesky: origin }),
    parse,
    secrets: {},
    isNew: () => true,
    isOver: () => false,
  });
}

test('Bluesky: posts containing the words, from the end of the last run until now', async () => {
  const { asked, origin } = await startStream([
    post('1', US - 9_000_000, 'Which CRM for field service?'),
    post('2', US - 8_000_000, 'Field of cats'),
    '{"did":"did:plc:b","time_us":1,"kind":"identity"}',
    'no JSON',
    post('3', US - 7_000_000, 'Gone CRM field service', 'delete'),
    post('4', US + 1, 'CRM for field service, later'),
    post('5', US + 2, 'CRM field service, not listened to any more'),
  ]);
  const { items, position } = await read(origin, null);
  expect(items.map(({ url }) => url)).toEqual([
    'https://bsky.app/profile/did:plc:a/post/1',
    'https://bsky.app/profile/did:plc:a/post/4',
  ]);
  expect(items[0]).toMatchObject({
    platform: 'bluesky',
    postedAt: T0 - 9_000,
    body: 'Which CRM for field service?',
  });
  expect(position).toEqual({ cursor: String(US) });
  await read(origin, position.cursor ?? null);
  const asks = asked.map(({ path }) => Object.fromEntries(new URLSearchParams(path.split('?')[1])));
  expect(asks).toEqual([
    { wantedCollections: 'app.bsky.feed.post', cursor: String(US - 3_600_000_000) },
    { wantedCollections: 'app.bsky.feed.post', cursor: String(US) },
  ]);
  expect(asked[0]?.agent).toMatch(/^Signalpost\/1\.0 /);
});

test('a message with half a character in its ID does not affect the others', async () => {
  const { origin } = await startStream([
    post('1\ud800', US - 9_000_000, 'Which CRM for field service?'),
    post('2', US - 8_000_000, 'CRM for field service?'),
    post('3', US, 'the last one'),
  ]);
  const { items } = await read(origin, null);
  expect(items.map(({ url }) => url)).toEqual([
    'https://bsky.app/profile/did:plc:a/post/1%EF%BF%BD',
    'https://bsky.app/profile/did:plc:a/post/2',
  ]);
});

test('a message from the future does not make the next run miss posts', async () => {
  const { origin } = await startStream([post('1', Number.MAX_SAFE_INTEGER, 'A CRM for field service?')]);
  const { position } = await read(origin, null);
  expect(position).toEqual({ cursor: String(US) });
});

test('a stream that cannot be opened is an error', async () => {
  const { origin } = await startStream(null);
  await expect(read(origin, null)).rejects.toMatchObject({ code: 'network' });
});
