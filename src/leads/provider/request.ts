import type { Dispatcher } from 'undici';
import { type Clock, readRetryAfter } from '../../lib/clock.ts';
import type { Fact } from '../facts.ts';
import { factsOfAnswer } from './answer.ts';

/** Whom or what a provider is asked about; what is not known is left out. */
export interface Question {
  email?: string;
  name?: string;
  linkedin_url?: string;
  domain?: string;
}

/** Why there is no answer: a word for the log, and until when the provider wants to be left alone (Unix milliseconds, 0: it did not say). */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly until: number;
  constructor(reason: string, until = 0) {
    super(reason);
    this.until = until;
  }
}

interface Connection {
  clock: Clock;
  url: URL;
  dispatcher: Dispatcher;
  /** Aborted when the process stops. */
  signal: AbortSignal;
}

/** From the look-up of the name to the last byte. */
const TIME_LIMIT_MS = 10_000;
const MAX_BODY_BYTES = 256 * 1024;

/** Asks once. Who is not known (404, 204) is an answer without facts. @throws ProviderFault */
export async function askOnce(connection: Connection, question: Question): Promise<Fact[]> {
  const { clock, url, dispatcher } = connection;
  const over = new AbortController();
  const timer = clock.after(TIME_LIMIT_MS, () => over.abort(new ProviderFault('timeout')));
  const signal = AbortSignal.any([over.signal, connection.signal]);
  try {
    const answer = await dispatcher.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...authorizationOf(url) },
      body: JSON.stringify(question),
      signal,
    });
    const { statusCode: status, headers } = answer;
    if (status === 404 || status === 204) {
      await answer.body.dump({ limit: MAX_BODY_BYTES });
      return [];
    }
    if (status < 200 || status > 299) {
      await answer.body.dump({ limit: MAX_BODY_BYTES });
      const now = clock.now();
      const pauseMs = readRetryAfter(headers['retry-after'], now);
      throw new ProviderFault(`status ${status}`, pauseMs === null ? 0 : now + pauseMs);
    }
    return readFacts(await readBody(answer.body));
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    throw over.signal.aborted ? over.signal.reason : new ProviderFault(codeOf(error));
  } finally {
    timer.cancel();
  }
}

async function readBody(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new ProviderFault('too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function readFacts(text: string): Fact[] {
  try {
    return factsOfAnswer(JSON.parse(text));
  } catch {
    throw new ProviderFault('no answer of the promised form');
  }
}

/** Name and password of the address go into a header: the address itself is sent without them. */
function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const plain = [username, password].map(decodeURIComponent).join(':');
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` };
}

/** A word such as ECONNREFUSED: messages may name what was asked. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'network';
}
