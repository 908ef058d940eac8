import type { Database, Statement } from 'better-sqlite3';
import type { AuditEntry } from '../../../model/audit.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Position } from '../../../model/page.ts';
import type { AuditStore } from '../../audit-store.ts';
import type { Part } from '../../store.ts';
import { pageOf } from './pages.ts';

interface AuditRow extends AuditEntry {
  position: number;
}

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;

/** Filters besides time: each has an index of its own; of both, the actor's is taken. */
const SHAPES = {
  any: 'INDEXED BY audit_by_time WHERE tenant_id = :tenantId',
  actor: 'INDEXED BY audit_by_actor WHERE tenant_id = :tenantId AND actor = :actor',
  action: 'INDEXED BY audit_by_action WHERE tenant_id = :tenantId AND action = :action',
  both: 'INDEXED BY audit_by_actor WHERE tenant_id = :tenantId AND actor = :actor AND action = :action',
} as const;
export type AuditShape = keyof typeof SHAPES;

/** A page of the audit list, newest first. */
export function auditPageSql(shape: AuditShape): string {
  return `SELECT position, at, actor, action, subject, count, client FROM audit ${SHAPES[shape]}
    AND at >= :from AND at < :to AND (at, position) < (:beforeAt, :beforePosition)
    ORDER BY at DESC, position DESC LIMIT :limit`;
}

/** Who changed what. */
export function auditReads(db: Database) {
  const prepare = (shape: AuditShape): Statement<Record<string, unknown>[], AuditRow> =>
    db.prepare(auditPageSql(shape));
  const pages = {
    any: prepare('any'),
    actor: prepare('actor'),
    action: prepare('action'),
    both: prepare('both'),
  };

  return {
    pageAudit(tenantId, { actor, action, from, to, limit, after }) {
      const shape =
        actor === null ? (action === null ? 'any' : 'action') : action === null ? 'actor' : 'both';
      const [beforeAt, beforePosition] = placeOf(after);
      const found = pages[shape].all({
        ...{ tenantId, beforeAt, beforePosition, limit: limit + 1 },
        ...{ from: from ?? 0, to: to ?? FAR_FUTURE },
        ...(actor !== null && { actor }),
        ...(action !== null && { action }),
      });
      return pageOf(found, limit, {
        toRow: ({ position: _, ...entry }): AuditEntry => entry,
        position: ({ at, position }) => [at, position],
      });
    },
  } satisfies Part<AuditStore>;
}

function placeOf(after: Position | null): [number, number] {
  if (after === null) return [FAR_FUTURE, FAR_FUTURE];
  const [at, position] = after;
  if (typeof at === 'number' && typeof position === 'number') return [at, position];
  throw new DomainError('INVALID_CURSOR', 'The cursor is of another list.');
}
