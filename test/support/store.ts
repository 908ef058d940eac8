import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../src/lib/clock.ts';
import type { NewDelivery, RoutedEvent } from '../../src/model/event.ts';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { type ApiKey, SCOPES } from '../../src/model/key.ts';
import type { Owner, Tenant } from '../../src/model/tenant.ts';
import { type Endpoint, webhookInputSchema } from '../../src/model/webhook.ts';
import { searchedFacts } from '../../src/rules/words.ts';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { OpenedStore } from '../../src/store/store.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';

/** An arbitrary time; a whole second, so that it is readable in a failed test. */
export const T0 = Date.UTC(2026, 0, 1);

/** An in-memory store with a manual clock; writes commit without advancing the clock. */
export async function openTestStore(): Promise<{ store: OpenedStore; clock: ManualClock }>;
export async function openTestStore<C extends Clock>(options: {
  clock: C;
  file?: string;
}): Promise<{ store: OpenedStore; clock: C }>;
export async function openTestStore(options: { clock?: Clock; file?: string } = {}) {
  const clock = options.clock ?? createManualClock(T0);
  const { file = ':memory:' } = options;
  if (file === ':memory:')
    return { store: await openSqliteStore({ file, contents: migrated(), clock }), clock };
  startMigrated(file);
  return { store: await openSqliteStore({ file, clock }), clock };
}

let schema: Buffer | null = null;

/** An empty database after all migrations, which take 60 ms: most of what many tests would take. */
export function migrated(): Buffer {
  if (schema !== null) return schema;
  const db = openDatabase(':memory:');
  migrate(db);
  schema = db.serialize();
  db.close();
  return schema;
}

/** Creates `file` with all migrations applied, unless it exists or its folder does not. */
export function startMigrated(file: string): void {
  if (existsSync(dirname(file)) && !existsSync(file)) writeFileSync(file, migrated(), { mode: 0o600 });
}

/** The input of `createTenant`: a tenant on Pro with its owner, its `Default` profile and a full-access key. */
export interface TenantFixture {
  tenant: Tenant;
  owner: Owner;
  profile: IcpProfile;
  key: ApiKey;
}

/** Every ID is derived from `id`: `aTenant('ten_a')` has profile `icp_ten_a`, owner `own_ten_a`, key `key_ten_a`. */
export function aTenant(id = newId('ten'), overrides: Partial<Tenant> = {}): TenantFixture {
  return {
    tenant: { id, name: `Tenant ${id}`, plan: 'pro', trialEndsAt: null, createdAt: T0, ...overrides },
    owner: {
      id: `own_${id}`,
      tenantId: id,
      email: `${id}@example.com`,
      setupTokenHash: `setup-hash-of-${id}`,
      setupExpiresAt: T0 + 86_400_000,
      createdAt: T0,
    },
    profile: defaultProfile(`icp_${id}`, id, T0),
    key: aKey(id, { id: `key_${id}` }),
  };
}

export function aKey(tenantId: string, overrides: Partial<ApiKey> = {}): ApiKey {
  const id = overrides.id ?? newId('key');
  return {
    id,
    tenantId,
    name: 'test',
    hash: `hash-of-${id}`,
    last4: 'abcd',
    scopes: [...SCOPES],
    rateLimit: 600,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    createdAt: T0,
    ...overrides,
  };
}

/** A hot intent post for the tenant's `Default` profile that causes no events. */
export function aSignal(tenantId: string, overrides: Partial<NewSignal> = {}): NewSignal {
  const id = overrides.id ?? newId('sig');
  return {
    id,
    tenantId,
    profileId: `icp_${tenantId}`,
    platform: 'reddit',
    externalId: null,
    canonicalUrl: null,
    signalType: 'intent_post',
    classification: 'hot',
    score: 80,
    timestamp: T0,
    companyDomain: '',
    company: null,
    facts: searchedFacts(JSON.parse(overrides.wire ?? '{}')),
    personKeys: [],
    nearKeys: [],
    wire: JSON.stringify({ signal_id: id }),
    explanation: JSON.stringify({ score: overrides.score ?? 80 }),
    text: `Text of ${id}`,
    events: [],
    ...overrides,
  };
}

/** An active endpoint with default settings. */
export function anEndpoint(tenantId: string, overrides: Partial<Endpoint> = {}): Endpoint {
  return {
    id: newId('whk'),
    tenantId,
    mode: 'push',
    settings: webhookInputSchema.parse({ url: 'https://receiver.example.com/hook' }),
    secretBox: new TextEncoder().encode('sealed secret'),
    secretLast4: 'wxyz',
    previousSecretBox: null,
    previousSecretUntil: null,
    headers: {},
    headersBox: null,
    ordered: false,
    backfillFrom: null,
    status: 'active',
    pausedReason: null,
    pausedAt: null,
    consecutiveFailures: 0,
    alarm: 'none',
    version: 1,
    createdAt: T0,
    ...overrides,
  };
}

/** A `signal.detected` event with one delivery to each of `endpointIds`, due at `createdAt`. */
export function aRoutedEvent(
  tenantId: string,
  endpointIds: string[],
  overrides: { id?: string; createdAt?: number; deliveryIds?: string[]; status?: NewDelivery['status'] } = {},
): RoutedEvent {
  const id = overrides.id ?? newId('evt');
  return {
    event: {
      id,
      tenantId,
      type: 'signal.detected',
      subjectId: 'sig_subject',
      data: '{}',
      createdAt: overrides.createdAt ?? T0,
    },
    deliveries: endpointIds.map((endpointId, index) => ({
      id: overrides.deliveryIds?.[index] ?? newId('dlv'),
      endpointId,
      body: JSON.stringify({ event: id }),
      status: overrides.status ?? 'pending',
    })),
    batched: [],
    skipped: [],
  };
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 25)}`;
}
