import type { IcpProfile } from '../model/icp.ts';

type Position = (string | number)[];

/** Ideal customer profiles. Deleted ones are kept for the signals that were matched with them, and found by no method. */
export interface ProfileStore {
  listProfiles(tenantId: string): Promise<IcpProfile[]>;
  /** Oldest first; `after` is `last` of the page before. */
  pageProfiles(
    tenantId: string,
    page: { limit: number; after: Position | null },
  ): Promise<{ rows: IcpProfile[]; last: Position | null }>;
  getProfile(tenantId: string, id: string): Promise<IcpProfile | null>;
  /** `limit` profiles at most; names are unique in a tenant, in whatever case. */
  createProfile(profile: IcpProfile, limit: number): Promise<'created' | 'name_taken' | 'full'>;
  /** Stores `profile` where the one before it has the version it grew from; `stale`: it has not, or it is gone. */
  changeProfile(profile: IcpProfile): Promise<'changed' | 'name_taken' | 'stale'>;
  /** The last one stays: without any, no post would make a signal. */
  deleteProfile(tenantId: string, id: string, now: number): Promise<'deleted' | 'last' | 'missing'>;
}
