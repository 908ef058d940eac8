import type { Database, Statement } from 'better-sqlite3';
import type { DeliveryKey, WalkPart, WalkTerms } from '../../changes/deliveries.ts';

type Value = string | number;
interface Where {
  sql: string;
  values: Value[];
}

const ALL = 'SELECT created_at AS createdAt, id FROM deliveries INDEXED BY';
/** As the index `deliveries_ended` says. */
const ENDED = "status IN ('dead', 'discarded', 'rejected', 'expired')";
const ENDED_STATUSES: ReadonlySet<string> = new Set(['dead', 'discarded', 'rejected', 'expired']);

/**
 * Walks along an index in the order of time. What does not fit is passed by, so a part is bounded by what it looks at and
 * not by what it finds: a million deliveries that wait, in a row before the one that was asked for, take seconds in all.
 */
export function createDeliveryWalk(db: Database) {
  const statements = new Map<string, Statement<Value[], DeliveryKey>>();

  function all(sql: string, values: Value[]): DeliveryKey[] {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare<Value[], DeliveryKey>(sql);
      statements.set(sql, statement);
    }
    return statement.all(...values);
  }

  /** Looks at `scan` deliveries after the key, and gives up to `limit` that fit. */
  return function walk(
    terms: WalkTerms,
    after: DeliveryKey | null,
    { scan, limit }: { scan: number; limit: number },
  ): WalkPart {
    const order = `ORDER BY created_at ${terms.direction}, id ${terms.direction}`;
    const whole = rangeOf(terms, after, null);
    const filter = filterOf(terms);
    const edge =
      filter.sql === ''
        ? undefined
        : all(`${whole.sql} ${order} LIMIT 1 OFFSET ?`, [...whole.values, scan - 1]).at(0);
    const part = edge === undefined ? whole : rangeOf(terms, after, edge);
    const found = all(`${part.sql}${filter.sql} ${order} LIMIT ?`, [...part.values, ...filter.values, limit]);
    const last = found.length === limit ? found.at(-1) : edge;
    return { found, next: last ?? null };
  };
}

/** The index that is walked, from where and to where: to the end of the terms' time, or to `edge`, which belongs to it. */
function rangeOf(terms: WalkTerms, after: DeliveryKey | null, edge: DeliveryKey | null): Where {
  const { sql, values } = scopeOf(terms);
  const { from, to } = { from: terms.from ?? 0, to: terms.to ?? Number.MAX_SAFE_INTEGER };
  const down = terms.direction === 'DESC';
  const start = after ?? { createdAt: down ? to : from, id: '' };
  // A scalar is what the index is searched by at the far end: SQLite takes no row value for the second bound of a range.
  const end = down ? (edge?.createdAt ?? from) : edge === null ? to : edge.createdAt + 1;
  const where: Where = {
    sql: `${sql} AND (created_at, id) ${down ? '<' : '>'} (?, ?) AND created_at ${down ? '>=' : '<'} ?`,
    values: [...values, start.createdAt, start.id, end],
  };
  if (edge !== null) {
    where.sql += ` AND (+created_at, id) ${down ? '>=' : '<='} (?, ?)`;
    where.values.push(edge.createdAt, edge.id);
  }
  return where;
}

function scopeOf({ tenantId, endpointId, statuses }: WalkTerms): Where {
  const [status] = statuses ?? [];
  if (status !== undefined && ENDED_STATUSES.has(status)) {
    return {
      sql: `${ALL} deliveries_ended WHERE tenant_id = ? AND ${ENDED} AND status = ?`,
      values: [tenantId, status],
    };
  }
  if (endpointId === null && status === 'delivered' && statuses?.length === 1) {
    return {
      sql: `${ALL} deliveries_delivered WHERE tenant_id = ? AND status = 'delivered'`,
      values: [tenantId],
    };
  }
  return endpointId === null
    ? { sql: `${ALL} deliveries_by_time WHERE tenant_id = ?`, values: [tenantId] }
    : { sql: `${ALL} deliveries_of_endpoint WHERE endpoint_id = ?`, values: [endpointId] };
}

/** What the scope does not hold by itself. */
function filterOf({ endpointId, statuses, ofEndpoints, eventType }: WalkTerms): Where {
  const ended = ENDED_STATUSES.has(statuses?.[0] ?? '');
  const parts: [string, Value[]][] = [];
  if (ended && endpointId !== null) parts.push(['endpoint_id = ?', [endpointId]]);
  const known = endpointId === null && statuses?.[0] === 'delivered';
  if (!ended && !known && statuses !== null) {
    parts.push([`+status IN (${statuses.map(() => '?').join(', ')})`, statuses]);
  }
  if (ofEndpoints !== null) {
    parts.push(['+endpoint_id IN (SELECT value FROM json_each(?))', [JSON.stringify(ofEndpoints)]]);
  }
  if (eventType !== null) parts.push(['event_type = ?', [eventType]]);
  return { sql: parts.map(([sql]) => ` AND ${sql}`).join(''), values: parts.flatMap(([, values]) => values) };
}
