import { lookup as systemLookup } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import { z } from 'zod';
import { type Clock, DAY_MS, HOUR_MS, readRetryAfter, toIso } from '../lib/clock.ts';
import { createPlaces } from '../lib/places.ts';
import { excerpt } from '../lib/text.ts';
import { shared } from '../lib/yielding.ts';
import { DEPARTMENTS, FACT_FIELDS, type FactField, type Lead, SENIORITIES } from '../model/lead.ts';
import { linkedinProfile, personKeys } from '../model/person-keys.ts';
import { domainSchema, emailInput } from '../model/text.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
import { changeUntilItHolds } from '../store/change-until-it-holds.ts';
import type { LeadStore } from '../store/lead-store.ts';
import { createConnect } from '../webhooks/connect.ts';
import { commitRouted } from '../webhooks/fan-out.ts';
import { type Enrichment, type LeadCaller, updateOf } from './changes.ts';
import { conclude } from './enrich.ts';
import { type Fact, fillFacts, identityKeys, readFact, vouchFor } from './facts.ts';

type EnrichmentDeps = IntakeDeps & {
  provider: Provider;
  log: { warn(fields: object, message: string): void };
};

export function createEnrichment(deps: EnrichmentDeps): Enrichment {
  const { provider, clock, log } = deps;
  const following = new Set<Promise<void>>();

  function follow(caller: LeadCaller, leadId: string, asking: Promise<ProviderAnswer | null>): void {
    const work = asking
      .then((answer) => (answer === null ? undefined : addLate(deps, caller, { leadId, answer })))
      .catch((err: unknown) => log.warn({ err, lead_id: leadId }, 'late facts of a lead could not be stored'))
      .finally(() => following.delete(work));
    following.add(work);
  }

  return {
    patience(until) {
      let late: Promise<ProviderAnswer | null> | null = null;
      return {
        async enrich({ tenantId }, lead) {
          const query = queryOf(lead);
          if (query === null) return lead;
          const asking = provider.ask(tenantId, query);
          const answer = await within(clock, asking, until - clock.monotonic());
          late = answer === 'late' ? asking : null;
          return answer === 'late' || answer === null ? lead : withAnswer(deps, tenantId, { lead, answer });
        },
        follow(caller, leadId) {
          if (late !== null) follow(caller, leadId, late);
        },
      };
    },
    forget: provider.forget,
    async close() {
      await provider.close();
      await Promise.all(following);
    },
  };
}

/**
 * The query about a lead; null if nothing is missing, or nothing identifies the person or company. Facts from the provider
 * itself are omitted: otherwise each answer would lead to another query.
 */
function queryOf(lead: Lead): ProviderQuery | null {
  if (FACT_FIELDS.every((field) => readFact(lead, field) !== '')) return null;
  const known = (field: FactField) =>
    lead.provenance[field]?.source === 'provider' ? '' : readFact(lead, field);
  const [email, name, linkedin_url] = [known('email'), known('name'), known('linkedin_url')];
  const domain = known('company.domain');
  if (email === '' && linkedin_url === '' && domain === '') return null;
  return {
    ...(email && { email }),
    ...(name && { name }),
    ...(linkedin_url && { linkedin_url }),
    ...(domain && { domain }),
  };
}

/**
 * Known facts are never replaced; further facts are derived from the new ones. Facts are dated by the answer. An address or
 * profile of another lead is omitted.
 */
async function withAnswer(
  { store, clock }: EnrichmentDeps,
  tenantId: string,
  { lead, answer: { facts, at } }: { lead: Lead; answer: ProviderAnswer },
): Promise<Lead> {
  const filled = fillFacts(lead, facts, at);
  if (filled === lead) return lead;
  const holders = await store.findIdentities(tenantId, personKeys(filled));
  const isOthers = holders.some(({ leadId }) => leadId !== null && leadId !== lead.id);
  const own = isOthers ? facts.filter(({ field }) => field !== 'email' && field !== 'linkedin_url') : facts;
  return conclude(fillFacts(lead, own, at), clock.now());
}

/** A lead whose person was erased is not created again. */
async function addLate(
  deps: EnrichmentDeps,
  caller: LeadCaller,
  { leadId, answer }: { leadId: string; answer: ProviderAnswer },
): Promise<void> {
  const { store } = deps;
  const { tenantId } = caller;
  await changeUntilItHolds('lead', async () => {
    const stored = await store.getLead(tenantId, leadId);
    if (stored === null) return 'gone';
    const filled = await withAnswer(deps, tenantId, { lead: stored.lead, answer });
    if (filled === stored.lead) return 'same';
    const keys = identityKeys(filled);
    const seen = await store.findIdentities(tenantId, keys);
    const change = updateOf(deps, caller, { stored, lead: filled });
    const lead = { ...change.lead, enriched_at: change.lead.updated_at };
    const data = { lead_id: leadId, previous: stored.lead, current: lead };
    const changes = [{ type: 'lead.enriched', subjectId: leadId, data } as const];
    const isStored = await commitRouted(deps, tenantId, { changes, waits: true }, (events) =>
      store.commitLead({ ...change, lead, keys, seen, events }),
    );
    return isStored ? 'stored' : null;
  });
}

function within<T>(clock: Clock, work: Promise<T>, ms: number): Promise<T | 'late'> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(Math.max(0, ms), () => resolve('late'));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** What a provider said, and when (Unix milliseconds). */
interface ProviderAnswer {
  facts: readonly Fact[];
  at: number;
}

/** A provider of facts about people and companies, over HTTP. */
interface Provider {
  /**
   * Null if it cannot be asked or does not answer; never rejects. Identical concurrent queries are asked once. Tenants take turns,
   * and none has all places.
   */
  ask(tenantId: string, query: ProviderQuery): Promise<ProviderAnswer | null>;
  /** Forgets every answer, because a person was erased. */
  forget(): void;
  /** Aborts requests in progress. */
  close(): Promise<void>;
}

/** Dependencies of a provider. */
export interface ProviderDeps {
  url: string;
  /** Maximum number of queries per day (UTC) for all tenants together, across restarts. */
  dailyLimit: number;
  clock: Clock;
  store: Pick<LeadStore, 'countEnrichment'>;
  log: { warn(fields: object, message: string): void };
}

/** Each may take ten seconds. */
const MOST_AT_ONCE = 8;
/** Tenants whose queries take this long leave a place to the others. */
const SLOW_MS = 2_000;
/** Answers are cached for a day, including those without facts. */
const KEPT_MS = DAY_MS;
const MOST_KEPT = 5_000;
const MOST_TENANTS = 10_000;

/** The provider at the URL that the operator has configured, in a private network or not. */
export function createProvider(deps: ProviderDeps): Provider {
  const { clock, store, log, dailyLimit } = deps;
  const url = new URL(deps.url);
  const stopping = new AbortController();
  const dispatcher = createDispatcher(clock);
  const connection = { clock, url, dispatcher, signal: stopping.signal };
  /** By query. */
  const kept = new LRUCache<string, ProviderAnswer>({ max: MOST_KEPT });
  const underWay = new Map<string, Promise<ProviderAnswer | null>>();
  const places = createPlaces(clock, { most: MOST_AT_ONCE, slowMs: SLOW_MS });
  const ofProvider = createBreaker(clock);
  /** By tenant: the queries of one may fail while those of others succeed. */
  const ofTenants = new LRUCache<string, Breaker>({ max: MOST_TENANTS });
  /** The day on which reaching the daily limit was logged. */
  let spentOn = '';
  let generation = 0;

  async function askNow(tenantId: string, key: string, query: ProviderQuery): Promise<ProviderAnswer | null> {
    const ofTenant = ofTenants.get(tenantId) ?? createBreaker(clock);
    ofTenants.set(tenantId, ofTenant);
    if (ofProvider.isOpen() || ofTenant.isOpen() || stopping.signal.aborted) return null;
    const trials = [ofProvider.begin(), ofTenant.begin()];
    const asked = generation;
    try {
      if (!(await hasRoom())) {
        for (const cancel of trials) cancel();
        return null;
      }
      const answer = { facts: await askOnce(connection, query), at: clock.now() };
      ofProvider.close();
      ofTenant.close();
      if (asked === generation) kept.set(key, answer);
      return answer;
    } catch (error) {
      if (stopping.signal.aborted) return null;
      const isOfQuery = error instanceof ProviderFault && error.isOfQuery;
      if (isOfQuery) ofProvider.close(); // it is there
      const pauseMs = (isOfQuery ? ofTenant : ofProvider).fail(
        error instanceof ProviderFault ? error.until : 0,
      );
      const reason = error instanceof ProviderFault ? error.message : 'storage';
      const fields = { reason, pause_ms: pauseMs, ...(isOfQuery && { tenant_id: tenantId }) };
      if (pauseMs > 0) log.warn(fields, 'the enrichment provider fails; it is left alone for a while');
      return null;
    }
  }

  async function hasRoom(): Promise<boolean> {
    const day = toIso(clock.now()).slice(0, 10);
    if (await store.countEnrichment(day, dailyLimit)) return true;
    if (spentOn !== day)
      log.warn({ limit: dailyLimit }, 'the enrichment provider is not asked any more today');
    spentOn = day;
    return false;
  }

  return {
    ask(tenantId, query) {
      const key = JSON.stringify(query);
      const known = kept.get(key);
      if (known !== undefined && clock.now() - known.at < KEPT_MS) return Promise.resolve(known);
      const before = underWay.get(key);
      if (before !== undefined) return shared(before);
      const asking = places
        .run(tenantId, () => askNow(tenantId, key, query))
        .finally(() => underWay.delete(key));
      underWay.set(key, asking);
      return asking;
    },
    forget() {
      generation++;
      kept.clear();
    },
    async close() {
      stopping.abort();
      await Promise.allSettled(underWay.values());
      await dispatcher.destroy();
    },
  };
}

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 60_000;
const MOST_OPEN_MS = HOUR_MS;

type Breaker = ReturnType<typeof createBreaker>;

/** Circuit breaker: closed; after five failures in a row open, for a minute or as long as requested; then one trial decides. */
function createBreaker(clock: Clock) {
  let failures = 0;
  let openUntil = 0;
  return {
    isOpen: () => clock.now() < openUntil,
    /** A query is sent. While it is a trial, others get no answer. Returns what to call if it was not sent after all. */
    begin(): () => void {
      if (failures < FAILURES_TO_OPEN) return () => undefined;
      const until = clock.now() + OPEN_MS;
      openUntil = until;
      return () => {
        if (openUntil === until) openUntil = 0;
      };
    },
    close() {
      failures = 0;
      openUntil = 0;
    },
    /** Returns for how long it is open now; 0: it is closed. `until`: as the provider asked. */
    fail(until: number): number {
      failures++;
      const now = clock.now();
      const opens = failures >= FAILURES_TO_OPEN ? now + OPEN_MS : 0;
      openUntil = Math.min(Math.max(until, opens), now + MOST_OPEN_MS);
      return Math.max(0, openUntil - now);
    },
  };
}

/**
 * Its connections are read in turns, and their TLS handshakes are limited, as those of receivers: responses of nothing but
 * headers held up other requests for a second, and certificates may take as long to read.
 */
function createDispatcher(clock: Clock): Dispatcher {
  const connect = createConnect({
    ...{ clock, localAddress: null, lenient: true, allow: { has: () => true } },
    lookup: async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address),
  });
  return new Agent({
    connections: MOST_AT_ONCE,
    pipelining: 1,
    connect(options, callback) {
      const dial = connect(options, callback);
      clock.after(TIME_LIMIT_MS, () => dial.cancel(new ProviderFault('timeout')));
    },
  });
}

/** Confidence of answers that state none. */
const USUAL_CONFIDENCE = 0.7;
const MAX_CHARS = 300;

/** An invalid member is treated as missing: the rest of the answer still counts. */
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

/** The facts in an answer. @throws if it does not have the documented form */
function factsOfAnswer(answer: unknown): Fact[] {
  const { person, company } = answerSchema.parse(answer);
  const { confidence: ofPerson = 0, ...about } = person ?? {};
  const { confidence: ofCompany = 0, ...firm } = company ?? {};
  const named = Object.fromEntries(Object.entries(firm).map(([name, value]) => [`company.${name}`, value]));
  return [...vouchFor(about, 'provider', ofPerson), ...vouchFor(named, 'provider', ofCompany)];
}

/** The person or company a provider is asked about; unknown members are omitted. */
interface ProviderQuery {
  email?: string;
  name?: string;
  linkedin_url?: string;
  domain?: string;
}

/** Statuses that indicate a problem with the provider itself: credentials, limits or an outage. Others may be caused by the query. */
const STATUSES_OF_PROVIDER = [401, 402, 403, 407, 429, 503];

/** Why there is no answer: a word for the log. */
class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  /** The query may be the cause: another one may succeed. */
  readonly isOfQuery: boolean;
  /** Until when the provider asked to wait (Unix milliseconds; 0: it did not). */
  readonly until: number;
  constructor(reason: string, { isOfQuery = true, until = 0 } = {}) {
    super(reason);
    this.isOfQuery = isOfQuery;
    this.until = until;
  }
}

interface ProviderConnection {
  clock: Clock;
  url: URL;
  dispatcher: Dispatcher;
  /** Aborted when the process stops. */
  signal: AbortSignal;
}

/** From the DNS look-up to the last byte. */
const TIME_LIMIT_MS = 10_000;
const MAX_BODY_BYTES = 256 * 1024;

/** Sends one request. An unknown person (404, 204) is an answer without facts. @throws ProviderFault */
async function askOnce(connection: ProviderConnection, query: ProviderQuery): Promise<Fact[]> {
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
      body: JSON.stringify(query),
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
      const isOfQuery = pauseMs === null && !STATUSES_OF_PROVIDER.includes(status);
      throw new ProviderFault(`status ${status}`, { isOfQuery, until: pauseMs === null ? 0 : now + pauseMs });
    }
    return readFacts(await readBody(answer.body));
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    throw over.signal.aborted ? over.signal.reason : new ProviderFault(codeOf(error), { isOfQuery: false });
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

/** User name and password in the URL are sent as a header, and removed from the URL. */
function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const plain = [username, password].map(decodeURIComponent).join(':');
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` };
}

/** A word such as ECONNREFUSED: messages may contain the query. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'network';
}
