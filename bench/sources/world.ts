import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOST_KINDS } from './kinds.ts';

/** The activity of hosts since the start. `readings` are the times (Unix milliseconds) of requests for a host's feed. */
export interface Seen {
  readings: Record<string, number[]>;
}

const SLOW_MS = 10_000;
/** The number of items in a feed; every read finds a new one. */
const SHOWN = 20;

// All hosts of the benchmark: one process on every loopback address. A dead host accepts connections and never responds.
const readings = new Map<string, number[]>();
const server = createServer((request, response) => void answer(request, response));
server.listen(0, '0.0.0.0', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', () => process.send?.({ readings: Object.fromEntries(readings) } satisfies Seen));
process.on('disconnect', () => process.exit(0));

function answer(request: IncomingMessage, response: ServerResponse): void {
  const host = request.headers.host?.split(':')[0] ?? '';
  const kind = Number(host.split('.')[1]);
  const times = readings.get(host) ?? [];
  if (request.url !== '/robots.txt') {
    times.push(Date.now());
    readings.set(host, times);
  }
  if (kind === HOST_KINDS.dead) return;
  const reply = () => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/rss+xml' }).end(feedOf(host, times.length));
  };
  if (kind === HOST_KINDS.slow) setTimeout(reply, SLOW_MS);
  else reply();
}

function feedOf(host: string, reading: number): string {
  const items = Array.from({ length: SHOWN }, (_, i) => itemOf(`${host}-${SHOWN + reading - i}`, i));
  return `<rss version="2.0"><channel><title>${host}</title>${items.join('')}</channel></rss>`;
}

/** Every tenth post contains buying intent. */
function itemOf(id: string, place: number): string {
  const text =
    place % 10 === 0
      ? `Thread ${id}: we are looking for a new booking tool, any recommendations? Budget approved, buying this month.`
      : `Thread ${id}: pictures of the tools that we repaired last week, and what we had for lunch. ${'More of it. '.repeat(20)}`;
  return `<item><guid>${id}</guid><title>Thread ${id}</title><description>${text}</description></item>`;
}
