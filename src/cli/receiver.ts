import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, toIso } from '../lib/clock.ts';
import { CommandError } from './ports.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** A received delivery as it is printed. `verifications` is null if there was no secret to verify it with. */
interface LoggedDelivery {
  receivedAt: number;
  id: string;
  attempt: string;
  /** `signal.detected` for a signal's payload, which names no event; otherwise the type in the envelope. */
  event: string;
  /** The ID of the signal or the event. */
  subject: string;
  verifications: Verification[] | null;
  /** The parsed body, or undefined if it is not a JSON object. */
  body: Record<string, unknown> | undefined;
}

interface ReceiverOptions {
  port: number;
  clock: Clock;
  /** Read for each delivery, so that it can be set later. */
  secret(): string | null;
  status: number;
  delayMs: number;
  onDelivery(delivery: LoggedDelivery): void;
}

interface LocalReceiver {
  url: string;
  close(): Promise<void>;
}

/** A local receiver of deliveries on 127.0.0.1. @throws CommandError if the port is not available */
export async function startReceiver(options: ReceiverOptions): Promise<LocalReceiver> {
  const server = createServer((request, response) => {
    receive(request, response, options).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new CommandError(
          `Port ${options.port} is not available (${error.code}); choose another with --port.`,
        ),
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

function describe({ headers }: IncomingMessage, bytes: Buffer, options: ReceiverOptions): LoggedDelivery {
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

/** Whether verification succeeded; null if nothing was verified. */
export function isGenuine({ verifications }: LoggedDelivery): boolean | null {
  return verifications === null ? null : verifications.every(({ fault }) => fault === null);
}

/** A delivery for people: one line, and if verification failed, what is wrong and what to check. */
export function deliveryLines(delivery: LoggedDelivery): string[] {
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
export function deliveryJson(delivery: LoggedDelivery): string {
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

/** How far `webhook-timestamp` may be from now (Standard Webhooks). */
const TOLERANCE_SECONDS = 300;
const SIGNATURE_MEMBER = /(^\{|,)"signature":"([^"]*)"\}$/;

/** The raw request, with the exact body. */
export interface ReceivedDelivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A method of verification and its result; `fault` is null if it succeeded. */
interface Verification {
  name: 'X-Service-Signature' | 'body signature' | 'webhook-signature';
  fault: string | null;
}

/**
 * Verifies a delivery in all three ways, based only on the documentation and without sharing code with the signer:
 * any receiver can verify a delivery that passes here.
 */
function verifyDelivery(
  { headers, body }: ReceivedDelivery,
  secret: string,
  nowSeconds: number,
): Verification[] {
  return [
    { name: 'X-Service-Signature', fault: headerFault(headers, body, secret) },
    { name: 'body signature', fault: bodyFault(body, secret) },
    { name: 'webhook-signature', fault: standardFault(headers, body, secret, nowSeconds) },
  ];
}

function headerFault(headers: IncomingHttpHeaders, body: Buffer, secret: string): string | null {
  const sent = headers['x-service-signature'];
  if (typeof sent !== 'string') return 'the header is missing';
  return same(sent, hexHmac(secret, body)) ? null : 'it is not the HMAC-SHA256 of the bytes received';
}

function bodyFault(body: Buffer, secret: string): string | null {
  // latin1 maps every byte to one character, so that removing the member changes nothing else.
  const text = body.toString('latin1');
  const member = SIGNATURE_MEMBER.exec(text);
  if (member === null) return 'the body does not end with a signature member';
  const unsigned = `${text.slice(0, member.index)}${member[1] === '{' ? '{' : ''}}`;
  const expected = hexHmac(secret, Buffer.from(unsigned, 'latin1'));
  return same(member[2] ?? '', expected) ? null : 'it is not the HMAC-SHA256 of the body without that member';
}

/** standardwebhooks.com: `v1,` + base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the secret's decoded bytes. */
function standardFault(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secret: string,
  nowSeconds: number,
): string | null {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') {
    return 'webhook-id, webhook-timestamp or webhook-signature is missing';
  }
  const age = nowSeconds - Number(timestamp);
  if (!(Math.abs(age) <= TOLERANCE_SECONDS)) {
    return `its timestamp is ${Math.abs(age)} s from this machine's clock (${TOLERANCE_SECONDS} s at most)`;
  }
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const genuine = signatures.split(' ').some((signature) => same(signature, `v1,${expected}`));
  return genuine ? null : 'none of its signatures fits id, timestamp and the bytes received';
}

function hexHmac(secret: string, data: Buffer): string {
  return createHmac('sha256', secret).update(data).digest('hex');
}

function same(sent: string, expected: string): boolean {
  const a = Buffer.from(sent);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
