import type { IcpProfile } from '../model/icp.ts';
import type { ApiKey } from '../model/key.ts';
import type { Owner, Session, Tenant } from '../model/tenant.ts';

/** Rows of a tenant that a plan has a ceiling on, and how many there are. */
export interface StoredRows {
  signals: number;
  leads: number;
  campaignEvents: number;
}

/** Tenants, owners and API keys. */
export interface AccountStore {
  createTenant(change: {
    tenant: Tenant;
    owner: Owner;
    profile: IcpProfile;
    /** Its first. */
    key: ApiKey;
  }): Promise<void>;
  /** Makes the first tenant, whose owner has a password and is signed in; false where there is a tenant already. */
  foundTenant(change: {
    tenant: Tenant;
    owner: Owner;
    profile: IcpProfile;
    passwordHash: string;
    session: Omit<Session, 'userId'>;
  }): Promise<boolean>;
  listTenants(): Promise<(Tenant & { ownerEmail: string })[]>;
  getTenant(id: string): Promise<Tenant | null>;
  /** Exact, and at the cost of reading one row. */
  countStored(tenantId: string): Promise<StoredRows>;
  /** `limit` keys at most that are not revoked; false where the tenant has that many already. */
  createKey(key: ApiKey, limit: number): Promise<boolean>;
  listKeys(tenantId: string | null): Promise<ApiKey[]>;
  /** The key with its tenant, looked up by SHA-256; revoked and expired ones too. */
  findKey(hash: string): Promise<{ key: ApiKey; tenant: Tenant } | null>;
  /** Last use, to the minute: written at most once a minute a key. */
  touchKey(id: string, now: number): Promise<void>;
  /** False where there is no such key. Revoking twice keeps the first time. */
  revokeKey(id: string, now: number): Promise<boolean>;
}
