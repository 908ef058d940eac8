import { connect } from 'node:net';
import type { HostileCase } from './case.ts';
import { outcomeOf } from './case.ts';
import { type Shape, shapesOfHead } from './texts.ts';
import type { Sent } from './world.ts';

/** Node accepts a head of 16 KB. */
const HEAD_CHARS = 15_500;
/** Heads are small, but need no account, so the cost of many of them matters. */
const AT_ONCE = 8;

const FACES = [
  '/',
  '/v1/signals/',
  '/api/',
  '/dashboard/',
  '/feedback/',
  '/developers/',
  '/assets/',
  '/.well-known/',
];
const PAGES = ['/', '/api/health', '/v1', '/dashboard/login', '/llms.txt', '/openapi.json', '/nowhere'];

/** Header lists with distinct items, because a parser may compare each item with each other. */
const LISTS: Record<string, (n: number) => string> = {
  accept: (n) => `a/b${n.toString(36)};q=0.${n % 9}`,
  'accept-encoding': (n) => `x${n.toString(36)};q=0.${n % 9}`,
  'accept-language': (n) => `x${n.toString(36)};q=0.${n % 9}`,
  'if-none-match': (n) => `"${n.toString(36)}"`,
  'if-match': (n) => `W/"${n.toString(36)}"`,
  range: (n) => `${n}-${n}`,
  cookie: (n) => `a${n.toString(36)}=1;`,
  'x-forwarded-for': (n) => `10.0.${n % 200}.1`,
  forwarded: (n) => `for=10.0.0.${n % 200}`,
  'cache-control': (n) => `a${n.toString(36)}`,
  tracestate: (n) => `a${n.toString(36)}=1`,
  'access-control-request-headers': (n) => `a${n.toString(36)}`,
};

/** Headers that some surface reads, as far as a run of one character could matter to it. */
const HEADERS = [
  ...Object.keys(LISTS),
  ...[
    'authorization',
    'user-agent',
    'content-type',
    'idempotency-key',
    'x-request-id',
    'traceparent',
    'origin',
  ],
  ...['host', 'referer', 'if-modified-since', 'sec-fetch-site', 'x-forwarded-proto', 'api-version'],
];

/** Paths, queries and headers of every surface: everything that can be sent without an account. */
export function httpCases(): HostileCase[] {
  return [
    ...FACES.flatMap((face) => shapesOfHead(false).map((shape) => pathCase(face, shape))),
    ...PAGES.flatMap((page) => shapesOfHead(false).map((shape) => queryCase(page, shape))),
    ...PAGES.map((page) =>
      ofSent(`query: ${page}, a thousand parameters`, { path: `${page}?${pairs(1_000)}` }),
    ),
    ...PAGES.map((page) =>
      ofSent(`query: ${page}, one parameter a thousand times`, { path: `${page}?${'a=1&'.repeat(1_000)}` }),
    ),
    ...HEADERS.flatMap((header) => shapesOfHead(true).map((shape) => headerCase(header, shape))),
    ...Object.entries(LISTS).flatMap(([header, item]) => PAGES.map((page) => listCase(page, header, item))),
    ...PIPELINED.flatMap((target) => [8, 24].map((connections) => pipelineCase(target, connections))),
    ...['POST /nowhere', 'POST /v1/signals', 'POST /dashboard/login', 'GET /api/health'].map(chunksCase),
    ...['OPTIONS', 'HEAD', 'PUT', 'DELETE', 'POST'].map((method) =>
      ofSent(`path: ${method} of slashes`, { method, path: `${'/'.repeat(HEAD_CHARS)}x` }),
    ),
  ];
}

/** The targets of many pipelined requests. */
const PIPELINED = [
  ...[
    'GET /',
    'GET /nowhere',
    'GET /api/health',
    'GET /api/nowhere',
    'GET /v1',
    'GET /v1/signals',
    'GET /v1/openapi.json',
  ],
  ...[
    'GET /dashboard/login',
    'GET /dashboard/signals',
    'GET /dashboard/setup',
    'GET /feedback/x',
    'OPTIONS /v1/signals',
  ],
  ...[
    'POST /dashboard/login',
    'POST /feedback/x',
    'POST /v1/signals',
    'GET /openapi.json',
    'GET /llms-full.txt',
    'GET /developers',
  ],
];

/** Many pipelined requests on many connections at once. */
function pipelineCase(target: string, connections: number): HostileCase {
  const head = (isLast: boolean) =>
    `${target} HTTP/1.1\r\nhost:a\r\n${isLast ? 'connection:close\r\n' : ''}content-length:0\r\n\r\n`;
  return {
    ...wireCase(head(false).repeat(2_500) + head(true), connections),
    name: `pipeline: 2,500 of ${target} on each of ${connections} connections`,
  };
}

/** A body that the parser passes on byte by byte. */
function chunksCase(target: string): HostileCase {
  const head = `${target} HTTP/1.1\r\nhost:a\r\nconnection:close\r\ncontent-type:application/json\r\ntransfer-encoding:chunked\r\n\r\n`;
  return {
    ...wireCase(`${head}${'1\r\n \r\n'.repeat(20_000)}0\r\n\r\n`, 24),
    name: `chunks: 20,000 of a byte, ${target}, on each of 24 connections`,
  };
}

function wireCase(bytes: string, connections: number): Pick<HostileCase, 'size' | 'run'> {
  return {
    size: bytes.length,
    async run({ server }) {
      const { hostname, port } = new URL(server.url);
      await Promise.all(
        Array.from(
          { length: connections },
          () =>
            new Promise<void>((resolve) => {
              const socket = connect(Number(port), hostname).resume();
              socket.on('error', () => {}); // closed before everything was written
              socket.once('close', () => resolve());
              socket.write(bytes);
            }),
        ),
      );
      return 'closed';
    },
  };
}

function pathCase(face: string, shape: Shape): HostileCase {
  // If the repeated part ends in something else, an end-anchored pattern retries from each position.
  return ofSent(`path: ${face} and ${shape.name}`, { path: `${face}${shape.of(HEAD_CHARS - 20)}x` });
}

function queryCase(page: string, shape: Shape): HostileCase {
  return ofSent(`query: ${page} and ${shape.name}`, { path: `${page}?q=${shape.of(HEAD_CHARS - 40)}` });
}

function headerCase(header: string, shape: Shape): HostileCase {
  const [page = '/'] = header === 'idempotency-key' || header === 'authorization' ? ['/v1/signals'] : PAGES;
  const sent = { path: page, headers: { [header]: `${shape.of(HEAD_CHARS - 60)}x` } };
  return ofSent(`header: ${header} of ${shape.name}`, sent);
}

function listCase(page: string, header: string, item: (n: number) => string): HostileCase {
  let value = item(0);
  for (let n = 1; value.length < HEAD_CHARS - 60; n++) value += `,${item(n)}`;
  return ofSent(`header: ${header} of many items, ${page}`, { path: page, headers: { [header]: value } });
}

function pairs(count: number): string {
  return Array.from({ length: count }, (_, n) => `a${n}=1`).join('&');
}

function ofSent(name: string, sent: Sent): HostileCase {
  return {
    name,
    size: HEAD_CHARS,
    async run(world) {
      const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => world.send(sent)));
      const outcomes = replies.map(outcomeOf);
      return outcomes.find((outcome) => outcome.startsWith('broken')) ?? String(outcomes[0]);
    },
  };
}
