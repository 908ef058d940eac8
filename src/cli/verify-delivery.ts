import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** How far `webhook-timestamp` may be from now (Standard Webhooks). */
const TOLERANCE_SECONDS = 300;
const SIGNATURE_MEMBER = /(^\{|,)"signature":"([^"]*)"\}$/;

/** What came over the wire, the body byte by byte. */
export interface ReceivedDelivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** One way of telling that a delivery is genuine, and what became of it; `fault` is null where it is. */
export interface Verification {
  name: 'X-Service-Signature' | 'body signature' | 'webhook-signature';
  fault: string | null;
}

/**
 * Verifies a delivery in all three ways, written from the documentation alone and sharing nothing with the code that
 * signs: what passes here, a receiver of one's own can verify.
 */
export function verifyDelivery(
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
  // latin1 keeps every byte as one character, so that cutting the member out changes nothing else.
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
