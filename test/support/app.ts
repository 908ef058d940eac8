import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { newKey } from '../../src/accounts/keys.ts';
import { createFeedbackLinks } from '../../src/accounts/links.ts';
import { createTenant, foundingToken } from '../../src/accounts/tenants.ts';
import { type AppDeps, buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import type { DashboardLimits } from '../../src/dashboard/deps.ts';
import type { DispatcherPulse } from '../../src/dispatcher/dispatcher.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, type LongPollLimits } from '../../src/http/connections.ts';
import type { Deprecation } from '../../src/http/deprecations.ts';
import { LOAD_LIMITS, type LoadLimits } from '../../src/http/load.ts';
import { createEnrichment, createProvider } from '../../src/leads/enrichment.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { createIds, type NewId } from '../../src/lib/ids.ts';
import { createAddressSet } from '../../src/lib/network.ts';
import { type Random, systemRandom } from '../../src/lib/random.ts';
import { createSecretBox, createSeededRandom } from '../../src/lib/secret-box.ts';
import type { Tracer } from '../../src/lib/tracing.ts';
import type { Scope } from '../../src/model/key.ts';
import type { Plan, Tenant } from '../../src/model/tenant.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import { createIntakeTally } from '../../src/signals/intake-tally.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { createSuggester } from '../../src/signals/suggestions.ts';
import type { SiteContent } from '../../src/site/content/site-content.ts';
import type { OpenedStore } from '../../src/store/store.ts';
import { createLookup } from '../../src/webhooks/target-lookup.ts';
import { refuseTests, type SendTest } from '../../src/webhooks/test-delivery.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { aSite } from './site-content.ts';
import { openTestStore, T0 } from './store.ts';

/** An app with an in-memory store, a tenant and its full-access key. */
export interface TestApp {
  app: FastifyInstance;
  /** Every registered route. */
  routes: { method: string; url: string }[];
  store: OpenedStore;
  clock: ManualClock;
  tenant: Tenant;
  /** The tenant's first key, and the header with it. */
  apiKey: string;
  auth: { authorization: string };
  /** Every logged line, as text. */
  logLines: string[];
  /** Every endpoint that was reported to the dispatcher as having work. */
  nudged: { endpointId: string; tenantId: string }[];
  /** Every endpoint that was reported to the dispatcher as changed. */
  changed: string[];
  /** Creates another key of the tenant. */
  addKey(input: { scopes?: Scope[]; rateLimit?: number; expiresAt?: number }): Promise<TestKey>;
  /** Creates another tenant with a full-access key. */
  addTenant(plan?: Plan): Promise<{ tenant: Tenant; auth: { authorization: string } }>;
}

export interface TestKey {
  id: string;
  apiKey: string;
  auth: { authorization: string };
}

export interface TestAppOptions {
  env?: Record<string, string>;
  plan?: Plan;
  /** Creates no account in the store; `tenant` and `apiKey` then do not exist there. */
  isEmpty?: boolean;
  /** The content of the site. Default: a small site with fixed text. */
  content?: SiteContent;
  deprecations?: readonly Deprecation[];
  /** The source of IDs and secrets. Default: random. */
  newId?: NewId;
  random?: Random;
  /** The file of the store. Default: in memory. */
  file?: string;
  /** Wraps the store, for example to make it fail. */
  wrapStore?(store: OpenedStore): OpenedStore;
  /** Limits on connections. Default: those of a server. */
  connections?: ConnectionLimits;
  /** How much work is accepted at once. Default: as on a server. */
  loadLimits?: LoadLimits;
  /** Request limits of the dashboard. Default: unlimited. */
  dashboardLimits?: DashboardLimits;
  /** How many requests may wait at once. Default: as on a server. */
  longPollLimits?: LongPollLimits;
  tracer?: Tracer;
  /** Replaces the dispatcher's figures. */
  dispatcherPulse?(): DispatcherPulse;
  expiredCount?(): number;
  /** Replaces the dispatcher's test deliveries. */
  sendTest?: SendTest;
  /** Replaces the preview of a source; omitted: none can be read. */
  previewSource?: NonNullable<AppDeps['previewSource']>;
  /** Replaces reading documents of other hosts; omitted: no access token is accepted. */
  readDocument?: NonNullable<AppDeps['readDocument']>;
  /** Default: none; posts are scored by words alone. */
  encoder?: Encoder;
}

export const BASE_URL = 'https://signals.example.com';

export async function buildTestApp({
  env = {},
  plan = 'pro',
  isEmpty = false,
  content = aSite(),
  deprecations = [],
  wrapStore,
  sendTest = refuseTests,
  random = systemRandom,
  newId: givenIds,
  file = ':memory:',
  connections = CONNECTION_LIMITS,
  loadLimits = LOAD_LIMITS,
  dashboardLimits = { session: 1e6, client: 1e6, tenant: () => 1e6 },
  tracer,
  encoder,
  ...figures
}: TestAppOptions = {}): Promise<TestApp> {
  const { store, clock } = await openTestStore({ clock: createManualClock(T0), file });
  const newId = givenIds ?? createIds(clock, random);
  const masterKey = MASTER_KEY;
  const config = loadConfig({ BASE_URL, ...env });
  const account = { store, clock, random, newId };
  const logLines: string[] = [];
  const nudged: TestApp['nudged'] = [];
  const changed: string[] = [];
  store.onCommitted(({ due, endpoints }) => {
    nudged.push(...due);
    changed.push(...endpoints);
  });

  const matchers = createMatchers(wrapStore?.(store) ?? store);
  const suggester = createSuggester(store, clock);
  const log = pino({ level: 'info' }, { write: (line: string) => void logLines.push(line) });
  const { enrichmentUrl, enrichmentDailyLimit: dailyLimit } = config;
  const enrichment =
    enrichmentUrl === null
      ? null
      : createEnrichment({
          ...{ ...account, matchers, baseUrl: config.baseUrl, log },
          provider: createProvider({ url: enrichmentUrl, dailyLimit, clock, store, log }),
        });

  const app = buildApp({
    ...account,
    ...figures,
    store: wrapStore?.(store) ?? store,
    matchers,
    suggester,
    intakeTally: createIntakeTally(),
    encoder: encoder ?? null,
    enrichment,
    config,
    content,
    deprecations,
    connections,
    loadLimits,
    dashboardLimits,
    tracer: tracer ?? null,
    cursors: createCursors(masterKey),
    feedbackLinks: createFeedbackLinks(createCursors(masterKey), config.baseUrl),
    seededRandom: createSeededRandom(masterKey),
    secretBox: createSecretBox(masterKey, random),
    allowTargets: createAddressSet(config.webhookAllowTargets),
    lookup: createLookup(clock),
    logger: log,
    sendTest,
  });
  const routes: TestApp['routes'] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, url });
  });
  app.addHook('onClose', async () => {
    await enrichment?.close();
    await store.close();
  });
  await app.ready();

  const home = isEmpty ? { ...store, createTenant: async () => {} } : store;
  const owner = { name: 'Acme', email: 'owner@example.com', plan };
  const { tenant, apiKey } = await createTenant({ ...account, store: home }, owner);
  return {
    app,
    routes,
    store,
    clock,
    tenant,
    apiKey,
    auth: bearer(apiKey),
    logLines,
    nudged,
    changed,
    async addKey({ scopes = [], ...rest }) {
      const made = newKey(account, { tenantId: tenant.id, name: 'test', scopes, ...rest });
      // The plan's limit must not affect tests that need a key per operation.
      if (!(await store.createKey(made.key, 1_000))) throw new Error('The tenant has too many keys.');
      return { id: made.key.id, apiKey: made.apiKey, auth: bearer(made.apiKey) };
    },
    async addTenant(otherPlan = 'pro') {
      const made = await createTenant(account, {
        name: 'Other',
        email: 'other@example.com',
        plan: otherPlan,
      });
      return { tenant: made.tenant, auth: bearer(made.apiKey) };
    },
  };
}

export function bearer(apiKey: string): { authorization: string } {
  return { authorization: `Bearer ${apiKey}` };
}

/** The link that creates the first account of a test app without one. */
export function foundingLink(masterKey = MASTER_KEY): string {
  return `${BASE_URL}/dashboard/setup#token=${foundingToken(createCursors(masterKey))}`;
}

/** The master key of test apps, which signs their cursors and links. */
const MASTER_KEY = Buffer.alloc(32, 7);

/** A post that scores as buying intent. */
export function aPost(overrides: Record<string, unknown> = {}) {
  return {
    platform: { name: 'reddit', post_url: 'https://reddit.com/r/hvac/1', posted_at: '2026-01-01T00:00:00Z' },
    text: 'We are looking for a new CRM, any recommendations? Budget approved, need to buy this month.',
    ...overrides,
  };
}
