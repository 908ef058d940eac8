import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, toIso } from '../lib/clock.ts';
import { CommandError } from './ports.ts';
import { type Verification, verifyDelivery } from './verify-delivery.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** A delivery as it came in. `verifications` is null where there was no secret to verify it with. */
interface Delivery {
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

interface ReceiverOptions {
  port: number;
  clock: Clock;
  /** Asked for each delivery, so that it may become known later. */
  secret(): string | null;
  status: number;
  delayMs: number;
  onDelivery(delivery: Delivery): void;
}

interface Receiver {
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

const WHAT_TO_CHECK =
  "    Check that the secret is this endpoint's current one (a new one ends the old), and that nothing between changed the bytes.";

/** Whether a delivery passed; null where nothing was verified. */
export function isGenuine({ verifications }: Delivery): boolean | null {
  return verifications === null ? null : verifications.every(({ fault }) => fault === null);
}

/** A delivery for people: one line, and where it is not genuine what is wrong and what to look at. */
export function deliveryLines(delivery: Delivery): string[] {
  const { verifications, event, subject, attempt } = delivery;
  const time = toIso(delivery.receivedAt).slice(11, 19);
  const what = `${event} ${subject || '(no id)'}  attempt ${attempt || '?'}  ${delivery.id || '(no webhook-id)'}`;
  const faults = (verifications ?? []).filter(({ fault }) => fault !== null);
  if (verifications === null) return [`${time}  not verified  ${what}`];
  if (faults.length === 0)
    return [`${time}  verified  ${what}  (${verifications.map((v) => v.name).join(', ')})`];
  const passed = verifications.filter(({ fault }) => fault === null).map(({ name }) => `    ${name}: ok`);
  return [
    `${time}  !!! SIGNATURE MISMATCH !!!  ${what}`,
    ...faults.map(({ name, fault }) => `    ${name}: ${fault}`),
    ...passed,
    WHAT_TO_CHECK,
  ];
}

/** A delivery for programs: one line of JSON. */
export function deliveryJson(delivery: Delivery): string {
  const checks = delivery.verifications?.map(({ name, fault }) => [name, fault ?? 'ok']);
  return JSON.stringify({
    received_at: toIso(delivery.receivedAt),
    webhook_id: delivery.id,
    event: delivery.event,
    subject_id: delivery.subject,
    attempt: Number(delivery.attempt),
    verified: isGenuine(delivery),
    checks: checks === undefined ? null : Object.fromEntries(checks),
    body: delivery.body ?? null,
  });
}
