import type { Campaign } from '../../model/campaign.ts';
import type { Company } from '../../model/company.ts';
import type { IcpProfile } from '../../model/icp.ts';
import type { Job, JobProgress } from '../../model/job.ts';
import type { ApiKey } from '../../model/key.ts';
import type { McpSubscription } from '../../model/mcp.ts';
import type { SignalView } from '../../model/signal.ts';
import type { Source } from '../../model/source.ts';
import type { Owner, Session, Tenant, User } from '../../model/tenant.ts';
import type { Endpoint, ListedEndpoint } from '../../model/webhook.ts';
import type { ProfileColumn } from '../profile-store.ts';
import type { Connection } from './connection.ts';
import { changed, rows } from './sql/prepared.ts';

/** How each member of a row is stored: as is, or as JSON. Null stays null. */
export type Columns<T> = {
  readonly [K in keyof T]-?: NonNullable<T[K]> extends string | number | boolean | Uint8Array
    ? 'plain'
    : 'json';
};

/** A statement that returns rows. */
export interface Rows<P extends unknown[], T> {
  /** The first row, or null. */
  get(...values: P): Promise<T | null>;
  all(...values: P): Promise<T[]>;
}

/** A table whose rows are `T`, described once: its column `created_at` is the member `createdAt`. */
export class Table<T extends object> {
  /** The columns, for a SELECT. */
  readonly list: string;
  readonly #name: string;
  readonly #columns: Columns<T>;
  readonly #names: (keyof T & string)[];

  constructor(name: string, columns: Columns<T>, made: { readonly [K in keyof T]?: string } = {}) {
    this.#name = name;
    this.#columns = columns;
    this.#names = Object.keys(columns) as (keyof T & string)[];
    this.list = this.#names.map((each) => `${made[each] ?? columnOf(each)} AS "${each}"`).join(', ');
  }

  /** The same table with columns that `T` does not have. */
  with<More extends object>(columns: Columns<More>): Table<T & More> {
    return new Table(this.#name, { ...this.#columns, ...columns } as unknown as Columns<T & More>);
  }

  /** Selects rows by `rest`, the part of the statement after FROM and the table's name. */
  select<P extends unknown[]>(db: Connection, rest: string): Rows<P, T> {
    return this.rows(db, `SELECT ${this.list} FROM ${this.#name} ${rest}`);
  }

  /** Rows of a whole statement, which selects {@link list}, and optionally further columns. */
  rows<P extends unknown[], More = unknown>(db: Connection, sql: string): Rows<P, T & More> {
    const all = rows<P, T & More>(db, sql);
    return { all, get: async (...values) => (await all(...values))[0] ?? null };
  }

  /** Inserts a row; returns false if `conflict`, a clause of the statement, left an existing row unchanged. */
  insert(db: Connection, conflict = ''): (row: T) => Promise<boolean> {
    const insert = changed<Record<string, unknown>[]>(
      db,
      `INSERT INTO ${this.#name} (${this.#names.map(columnOf).join(', ')})
       VALUES (${this.#names.map((each) => `:${each}`).join(', ')}) ${conflict}`,
    );
    return (row) => insert(this.encode(row));
  }

  /** A row, or some of its members, as named parameters such as `:createdAt`. */
  encode(row: Partial<T>): Record<string, unknown> {
    const values: Record<string, unknown> = { ...row };
    for (const name of this.#names) {
      const value = row[name];
      if (this.#columns[name] === 'json' && value !== null && value !== undefined)
        values[name] = JSON.stringify(value);
    }
    return values;
  }
}

/** `createdAt` → `created_at` */
function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// Tables whose rows are read and written as a whole.

export const TENANTS = new Table<Tenant>('tenants', {
  ...{ id: 'plain', name: 'plain', plan: 'plain', trialEndsAt: 'plain', createdAt: 'plain' },
});

/** A user as created with the tenant; {@link USERS} has the columns added later. */
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

/** A profile as stored, with the normalized name, which is unique per tenant, and the number of its phrases. */
export type ProfileRow = Pick<IcpProfile, ProfileColumn> & {
  nameKey: string;
  phraseCount: number;
  settings: Omit<IcpProfile, ProfileColumn>;
};

export const PROFILES = new Table<ProfileRow>('icp_profiles', {
  ...{
    id: 'plain',
    tenantId: 'plain',
    name: 'plain',
    nameKey: 'plain',
    phraseCount: 'plain',
    settings: 'json',
  },
  ...{ active: 'plain', createdAt: 'plain', updatedAt: 'plain', version: 'plain' },
});

export const LISTED_ENDPOINTS = new Table<ListedEndpoint>('webhook_endpoints', {
  ...{ id: 'plain', tenantId: 'plain', mode: 'plain', settings: 'json', secretLast4: 'plain' },
  ...{ previousSecretUntil: 'plain', headers: 'json', ordered: 'plain', backfillFrom: 'plain' },
  ...{ status: 'plain', pausedReason: 'plain' },
  ...{
    pausedAt: 'plain',
    consecutiveFailures: 'plain',
    alarm: 'plain',
    version: 'plain',
    createdAt: 'plain',
  },
});

export const ENDPOINTS = LISTED_ENDPOINTS.with<Omit<Endpoint, keyof ListedEndpoint>>({
  ...{ secretBox: 'plain', previousSecretBox: 'plain', headersBox: 'plain' },
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

/** With the time of the latest signal that named each, by which lists are sorted. */
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

export const OPEN_JOBS = new Table<JobProgress>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', total: 'plain', processed: 'plain' },
});

export const JOBS = new Table<Job>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', status: 'plain', total: 'plain', processed: 'plain' },
  ...{ createdAt: 'plain', finishedAt: 'plain', error: 'json' },
});

export const VIEWS = new Table<SignalView>('signal_views', {
  ...{ id: 'plain', tenantId: 'plain', name: 'plain', query: 'plain', createdAt: 'plain' },
});
