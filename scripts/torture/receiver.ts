import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How an endpoint responds from now on. */
export type Mood = 'well' | 'slow' | 'stalled' | 'resetting' | 'failing';
/** An order for the receiver's process. */
export type Order =
  | { do: 'mood'; paths: string[]; mood: Mood }
  | { do: 'secret'; path: string; secret: string }
  | { do: 'count' }
  | { do: 'report' };
/** The response to `report`. */
export interface ReceiverReport {
  delivered: [name: string, times: number][];
  /** Requests with an invalid signature. */
  forged: string[];
}

const moods = new Map<string, Mood>();
const secrets = new Map<string, string>();
const delivered = new Map<string, number>();
const forged: string[] = [];
const SLOW_MS = 1_500;
/** Even a healthy receiver takes a moment: requests in flight when a server is killed are repeated. */
const WELL_MS = 100;

/** Only successful requests count as delivered: interrupted ones are repeated. */
function answer(mood: Mood, response: ServerResponse, taken: () => void): void {
  const well = () => {
    taken();
    response.end();
  };
  if (mood === 'well') setTimeout(well, Math.random() * WELL_MS);
  else if (mood === 'slow') setTimeout(well, SLOW_MS);
  else if (mood === 'resetting') response.socket?.resetAndDestroy();
  else if (mood === 'failing') response.writeHead(Math.random() < 0.5 ? 500 : 503).end();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('error', () => {}).on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('error', () => {});
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const path = request.url ?? '';
    const expected = createHmac('sha256', secrets.get(path) ?? '')
      .update(body)
      .digest('hex');
    const name = nameOf(path, body);
    if (request.headers['x-service-signature'] !== expected || name === null) {
      forged.push(`${path} ${body.toString().slice(0, 200)}`);
      response.writeHead(400).end();
      return;
    }
    answer(moods.get(path) ?? 'well', response, () => delivered.set(name, (delivered.get(name) ?? 0) + 1));
  });
});

function nameOf(path: string, body: Buffer): string | null {
  try {
    return `${path} ${JSON.parse(body.toString()).platform.post_url}`;
  } catch {
    return null;
  }
}

process.on('message', (order: Order) => {
  if (order.do === 'mood') for (const path of order.paths) moods.set(path, order.mood);
  if (order.do === 'secret') secrets.set(order.path, order.secret);
  if (order.do === 'count') process.send?.(delivered.size);
  if (order.do === 'report') process.send?.({ delivered: [...delivered], forged } satisfies ReceiverReport);
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
