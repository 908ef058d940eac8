import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { CommandError } from './ports.ts';
import { type Verification, verifyDelivery } from './verify-delivery.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** A delivery as it came in. `verifications` is null where there was no secret to verify it with. */
export interface Delivery {
  receivedAt: number;
  id: string;
  attempt: string;
  /** `signal.detected` for a signal's payload, which names no event; else the envelope's. */
  event: string;
  /** The signal's or the event's id. */
  subject: string;
  verifications: Verification[] | null;
  /** The parsed body, or undefined where it is no JSON object. */
  body: Record<string, unknown> | undefined;
}

export interface ReceiverOptions {
  port: number;
  clock: Clock;
  /** Asked for each delivery, so that it may become known later. */
  secret(): string | null;
  status: number;
  delayMs: number;
  onDelivery(delivery: Delivery): void;
}

export interface Receiver {
  url: string;
  close(): Promise<void>;
}

/** A local receiver of deliveries on 127.0.0.1. @throws CommandError where the port cannot be had */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const server = createServer((request, response) => {
    receive(request, response, options).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(`Port ${options.port} cannot be had (${error.code}); give another with --port.`),
      ),
    );
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function receive(request: IncomingMessage, response: ServerResponse, options: ReceiverOptions) {
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end('Deliveries come by POST.\n');
    return;
  }
  const body = await readBody(request);
  if (body === null) {
    response.writeHead(413, { connection: 'close' }).end();
    return;
  }
  options.onDelivery(describe(request, body, options));
  options.clock.after(options.delayMs, () => response.writeHead(options.status).end());
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function describe({ headers }: IncomingMessage, bytes: Buffer, options: ReceiverOptions): Delivery {
  const secret = options.secret();
  const now = options.clock.now();
  const body = parseObject(bytes);
  return {
    receivedAt: now,
    id: String(headers['webhook-id'] ?? ''),
    attempt: String(headers['x-service-attempt'] ?? ''),
    event: String(body?.event ?? (body && 'signal_id' in body ? 'signal.detected' : 'unknown')),
    subject: String(body?.signal_id ?? body?.id ?? ''),
    verifications:
      secret === null ? null : verifyDelivery({ headers, body: bytes }, secret, Math.floor(now / 1000)),
    body,
  };
}

function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
