import type { AuditAction, AuditActor, AuditEntry } from '../model/audit.ts';
import type { Page, Place } from '../model/page.ts';

/** Filters and position of a page of the audit list, newest first. `from` <= at < `to`. */
export interface AuditQuery extends Place {
  actor: string | null;
  action: AuditAction | null;
  from: number | null;
  to: number | null;
}

/** Who changed what. */
export interface AuditStore {
  /**
   * Runs `work`. What is changed in it, and in what it awaits, stands in the audit list as the actor's doing, written in the
   * commit of the change. Null: nobody's.
   */
  as<T>(actor: AuditActor | null, work: () => T): T;
  pageAudit(tenantId: string, query: AuditQuery): Promise<Page<AuditEntry>>;
  /** Removes what was done before, oldest first; how many. */
  pruneAudit(before: number, limit: number): Promise<number>;
}
