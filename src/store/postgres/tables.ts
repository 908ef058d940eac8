import type { Campaign } from '../../model/campaign.ts';
import type { Company } from '../../model/company.ts';
import type { IcpProfile } from '../../model/icp.ts';
import type { Job } from '../../model/job.ts';
import type { ApiKey } from '../../model/key.ts';
import type { McpSubscription } from '../../model/mcp.ts';
import type { SignalView } from '../../model/signal.ts';
import type { Source } from '../../model/source.ts';
import type { Owner, Session, Tenant, User } from '../../model/tenant.ts';
import type { Endpoint } from '../../model/webhook.ts';
import { Table } from './table.ts';

// Rows that come out whole, and go in so.

export const TENANTS = new Table<Tenant>('tenants', {
  ...{ id: 'plain', name: 'plain', plan: 'plain', trialEndsAt: 'plain', createdAt: 'plain' },
});

/** A person as they are made with their tenant; {@link USERS} from then on. */
export const OWNERS = new Table<Owner>('owners', {
  ...{ id: 'plain', tenantId: 'plain', email: 'plain', setupTokenHash: 'plain' },
  ...{ setupExpiresAt: 'plain', createdAt: 'plain' },
});

export const USERS = new Table<User>(
  'owners',
  {
    ...{ id: 'plain', tenantId: 'plain', email: 'plain', role: 'plain', passwordHash: 'plain' },
    ...{ hasSecondFactor: 'plain', createdAt: 'plain' },
  },
  { hasSecondFactor: 'totp_since IS NOT NULL' },
);

export const SESSIONS = new Table<Session>('sessions', {
  ...{ tokenHash: 'plain', id: 'plain', client: 'plain', userId: 'plain' },
  ...{ createdAt: 'plain', seenAt: 'plain', expiresAt: 'plain' },
});

export const KEYS = new Table<ApiKey>('api_keys', {
  ...{ id: 'plain', tenantId: 'plain', name: 'plain', hash: 'plain', last4: 'plain', scopes: 'json' },
  ...{ rateLimit: 'plain', expiresAt: 'plain', lastUsedAt: 'plain', revokedAt: 'plain', createdAt: 'plain' },
});

type ProfileColumn = 'id' | 'tenantId' | 'name' | 'active' | 'createdAt' | 'updatedAt' | 'version';

/** A profile as it is kept, with the name as no two of a tenant have it. */
export type KeptProfile = Pick<IcpProfile, ProfileColumn> & {
  nameKey: string;
  settings: Omit<IcpProfile, ProfileColumn>;
};

export const PROFILES = new Table<KeptProfile>('icp_profiles', {
  ...{ id: 'plain', tenantId: 'plain', name: 'plain', nameKey: 'plain', settings: 'json' },
  ...{ active: 'plain', createdAt: 'plain', updatedAt: 'plain', version: 'plain' },
});

export const ENDPOINTS = new Table<Endpoint>('webhook_endpoints', {
  ...{ id: 'plain', tenantId: 'plain', mode: 'plain', settings: 'json', secretBox: 'plain' },
  ...{ secretLast4: 'plain', previousSecretBox: 'plain', previousSecretUntil: 'plain', headers: 'json' },
  ...{ headersBox: 'plain', ordered: 'plain', backfillFrom: 'plain', status: 'plain', pausedReason: 'plain' },
  ...{
    pausedAt: 'plain',
    consecutiveFailures: 'plain',
    alarm: 'plain',
    version: 'plain',
    createdAt: 'plain',
  },
});

export const SUBSCRIPTIONS = new Table<McpSubscription>('mcp_subscriptions', {
  ...{ id: 'plain', tenantId: 'plain', keyId: 'plain', endpointId: 'plain', name: 'plain' },
  ...{ expiresAt: 'plain', createdAt: 'plain' },
});

export const CAMPAIGNS = new Table<Campaign>('campaigns', {
  ...{ id: 'plain', tenantId: 'plain', name: 'plain', status: 'plain', settings: 'json' },
  ...{ startedAt: 'plain', completedAt: 'plain', statusChangedAt: 'plain', createdAt: 'plain' },
  ...{ updatedAt: 'plain', version: 'plain' },
});

/** With when the last signal named each, which lists are in the order of. */
export const COMPANIES = new Table<Company & { activeAt: number }>('companies', {
  ...{ id: 'plain', tenantId: 'plain', domain: 'plain', facts: 'json', createdAt: 'plain' },
  ...{ updatedAt: 'plain', version: 'plain', activeAt: 'plain' },
});

export const SOURCES = new Table<Source>('sources', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', name: 'plain', settings: 'json', secrets: 'json' },
  ...{ profileIds: 'json', intervalSeconds: 'plain', maxAgeDays: 'plain', status: 'plain' },
  ...{ nextPollAt: 'plain', lastRunAt: 'plain', lastSuccessAt: 'plain', lastError: 'json' },
  ...{ failures: 'plain', failingSince: 'plain', quota: 'json', itemsSeen: 'plain', itemsMatched: 'plain' },
  ...{ itemsRelevant: 'plain', signalsMade: 'plain', createdAt: 'plain', updatedAt: 'plain' },
  version: 'plain',
});

export const JOBS = new Table<Job>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', status: 'plain', total: 'plain', processed: 'plain' },
  ...{ createdAt: 'plain', finishedAt: 'plain', error: 'json', results: 'json' },
});

export const VIEWS = new Table<SignalView>('signal_views', {
  ...{ id: 'plain', tenantId: 'plain', name: 'plain', query: 'plain', createdAt: 'plain' },
});
