import type { Database } from 'better-sqlite3';
import type { AuditActor } from '../../../model/audit.ts';
import type { AuditStore } from '../../audit-store.ts';
import { actOf, keepsClient } from '../../audited.ts';
import type { Part } from '../../store.ts';

/** Who makes a change, and when. */
export interface Doer extends AuditActor {
  at: number;
}

/** A change that is somebody's doing. */
export interface DoneCall extends Doer {
  name: string;
  args: unknown[];
}

type AnyChange = (...args: never[]) => unknown;

const HOUR_MS = 3_600_000;

/** Makes any of the other changes, and writes into the audit list in the same transaction whose doing it was. */
export function auditChanges(db: Database, changes: Readonly<Record<string, AnyChange>>) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO audit (tenant_id, at, actor, action, subject, count, gathered, client)
     VALUES (:tenantId, :at, :actor, :action, :subject, :count, :gathered, :client)
     ON CONFLICT (tenant_id, actor, action, gathered) WHERE gathered IS NOT NULL
       DO UPDATE SET count = count + excluded.count`,
  );
  // A row's place follows its time but for clocks that were set back: what is oldest stands first.
  const prune = db.prepare<[number, number]>(
    `DELETE FROM audit WHERE position IN
       (SELECT position FROM (SELECT position, at FROM audit ORDER BY position LIMIT ?) WHERE at < ?)`,
  );

  return {
    makeDone({ name, args, tenantId, at, actor, client: from = '' }: DoneCall): unknown {
      const change = changes[name] as ((...args: unknown[]) => unknown) | undefined;
      if (change === undefined) throw new Error(`There is no change "${name}".`);
      const result = change(...args);
      const act = actOf(
        toldName(name),
        args,
        name === HELD ? Reflect.get(result as object, 'committed') : result,
      );
      if (act !== null) {
        const { action, subject, count = 1, gatheredBy } = act;
        const client = keepsClient(action) ? from : '';
        const mark = [Math.floor(at / HOUR_MS), gatheredBy, client].join(' ').trimEnd();
        const gathered = gatheredBy === undefined ? null : mark;
        insert.run({ tenantId, at, actor, action, subject, count, gathered, client });
      }
      return result;
    },
    pruneAudit: (before, limit) => prune.run(limit, before).changes,
  } satisfies Part<AuditStore> & Record<'makeDone', AnyChange>;
}

/** `commitSignals` as the store's own face calls it: what it came to stands beside what was taken. */
const HELD = 'commitSignalsHeld';

/** The name by which the audit list knows a change. */
export function toldName(name: string): string {
  return name === HELD ? 'commitSignals' : name;
}
