import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { type Clock, readRetryAfter } from '../../lib/clock.ts';
import { excerpt } from '../../lib/text.ts';
import { DEPARTMENTS, SENIORITIES } from '../../model/lead.ts';
import { linkedinProfile } from '../../model/person-keys.ts';
import { domainSchema, emailInput } from '../../model/text.ts';
import { type Fact, vouchFor } from '../facts.ts';

/** How sure an answer is that does not say so itself. */
const USUAL_CONFIDENCE = 0.7;
const MAX_CHARS = 300;

/** A member of another form is as good as none: the rest of the answer still counts. */
const lenient = (schema: z.ZodType<string>) =>
  schema
    .optional()
    .catch('')
    .transform((text = '') => text);
const fact = lenient(
  z.string().transform((text) => excerpt(text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), MAX_CHARS)),
);
const confidence = z.number().min(0).max(1).catch(USUAL_CONFIDENCE).default(USUAL_CONFIDENCE);

const personSchema = z.object({
  name: fact,
  first_name: fact,
  last_name: fact,
  email: lenient(emailInput),
  linkedin_url: lenient(
    z
      .string()
      .max(2_000)
      .refine((text) => linkedinProfile(text) !== null),
  ),
  title: fact,
  seniority: lenient(z.enum(SENIORITIES)),
  department: lenient(z.enum(DEPARTMENTS)),
  confidence,
});

const companySchema = z.object({
  name: fact,
  domain: lenient(domainSchema),
  industry: fact,
  headcount: lenient(
    z
      .union([z.string(), z.int().min(0)])
      .transform(String)
      .pipe(z.string().max(MAX_CHARS)),
  ),
  location: fact,
  confidence,
});

const answerSchema = z.object({
  person: personSchema.nullish().catch(null),
  company: companySchema.nullish().catch(null),
});

/** What an answer says, as facts of a lead. @throws where it is no object of the form that a provider promises */
function factsOfAnswer(answer: unknown): Fact[] {
  const { person, company } = answerSchema.parse(answer);
  const { confidence: ofPerson = 0, ...about } = person ?? {};
  const { confidence: ofCompany = 0, ...firm } = company ?? {};
  const named = Object.fromEntries(Object.entries(firm).map(([name, value]) => [`company.${name}`, value]));
  return [...vouchFor(about, 'provider', ofPerson), ...vouchFor(named, 'provider', ofCompany)];
}

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
    throw new ProviderFault('unexpected response format');
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
