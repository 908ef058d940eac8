import type { Database } from 'better-sqlite3';
import { DomainError } from '../../../model/errors.ts';
import type { HeldKey, Step } from '../../idempotency-store.ts';
import type { Doer, DoneCall } from './audit.ts';

/** A change that a keyed request makes. */
export interface KeptCall extends Pick<HeldKey, 'request' | 'token'>, Pick<Step, 'item' | 'name'> {
  args: unknown[];
  /** Whose doing it is; null: the audit list is told nothing of it. */
  by: Doer | null;
}

type AnyChange = (...args: never[]) => unknown;

/** Makes any of the other changes, and writes down in the same transaction that a keyed request has made it. */
export function keptStepChanges(
  db: Database,
  changes: Readonly<Record<string, AnyChange>>,
  makeDone: (call: DoneCall) => unknown,
) {
  const holderOf = db
    .prepare<[string, string, string], string>(
      'SELECT token FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?',
    )
    .pluck();
  const addStep = db.prepare<[string, string, string, string]>(
    `UPDATE idempotency_keys SET steps = steps || ? || char(10) WHERE tenant_id = ? AND route = ? AND key = ?`,
  );

  return {
    makeKept({ request: { tenantId, route, key }, token, item, name, args, by }: KeptCall): unknown {
      const holder = holderOf.get(tenantId, route, key);
      // No row: a person was erased whom the request told of. It goes on, and nothing is kept of it.
      if (holder !== undefined && holder !== token) throw lostKey();
      const change = changes[name] as ((...args: unknown[]) => unknown) | undefined;
      if (change === undefined) throw new Error(`There is no change "${name}".`);
      const result = by === null ? change(...args) : makeDone({ ...by, name, args });
      if (result !== false && result !== null) {
        addStep.run(JSON.stringify({ item, name, result } satisfies Step), tenantId, route, key);
      }
      return result;
    },
  };
}

function lostKey(): DomainError {
  const detail = 'Another run of the request with this Idempotency-Key has taken its place.';
  return new DomainError('IDEMPOTENCY_IN_FLIGHT', detail, { retryAfterSeconds: 1 });
}
