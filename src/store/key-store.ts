import type { ApiKey } from '../model/key.ts';
import type { Page, Place } from '../model/page.ts';

/** What of a key can be changed; what is left out stays as it is. */
export type KeyChange = Partial<Pick<ApiKey, 'name' | 'scopes' | 'rateLimit' | 'expiresAt'>>;

/** A tenant's keys as it manages them itself. */
export interface KeyStore {
  /** Oldest first, revoked ones too. */
  pageKeys(tenantId: string, page: Place): Promise<Page<ApiKey>>;
  getKey(tenantId: string, id: string): Promise<ApiKey | null>;
  /** The key as it then is; null where there is none, or where it is revoked: that is not undone by a change. */
  changeKey(tenantId: string, id: string, change: KeyChange): Promise<ApiKey | null>;
  /** Removes keys that were revoked before `before` (Unix milliseconds), `limit` at most; how many. */
  pruneKeys(before: number, limit: number): Promise<number>;
}
