import type { Database } from 'better-sqlite3';
import { afterBrokenRun } from '../../../rules/broken-run.ts';
import { createMailWriter } from './mail.ts';

/** Processes whose leases end, each by its name. */
export interface Departed {
  /** The process that asks. */
  process: string;
  /** Whether leases in its own name end too: they are those of a dispatcher or poller before this one. */
  own: boolean;
  dead: string[];
}

/** A source that was being read when its process ended. */
interface BrokenRow {
  id: string;
  tenantId: string;
  name: string;
  brokenOff: number;
}

/** Leases of deliveries and sources that nobody holds any more. */
export function processChanges(db: Database) {
  const register = db.prepare<[string]>('INSERT INTO processes (name) VALUES (?) ON CONFLICT DO NOTHING');
  const endLanes = db.prepare<[string]>(
    'DELETE FROM lane_leases WHERE process IN (SELECT value FROM json_each(?))',
  );
  const endSources = db
    .prepare<[string], string>(
      `UPDATE sources SET lease_token = NULL, lease_until = 0
       WHERE lease_until > 0 AND lease_process IN (SELECT value FROM json_each(?)) RETURNING id`,
    )
    .pluck();
  // Leases without a process are of a version that kept them when it was stopped.
  const selectBroken = db.prepare<[string], BrokenRow>(
    `SELECT id, tenant_id AS tenantId, name, broken_off AS brokenOff FROM sources
     WHERE lease_until > 0 AND lease_process <> '' AND lease_process IN (SELECT value FROM json_each(?))
     ORDER BY next_poll_at, id`,
  );
  const breakOff = db.prepare<Record<string, unknown>[]>(
    `UPDATE sources SET
       broken_off = broken_off + 1,
       last_error = :error,
       failures = failures + 1,
       failing_since = ifnull(failing_since, :now),
       next_poll_at = max(next_poll_at, :notBefore),
       status = iif(:isPaused, 'paused', status),
       version = version + :isPaused,
       updated_at = iif(:isPaused, :now, updated_at)
     WHERE id = :id`,
  );
  // The dispatcher and the poller each end theirs: a process is forgotten when it has leases of neither.
  const forget = db.prepare<[string]>(
    `DELETE FROM processes WHERE name IN (SELECT value FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM lane_leases WHERE process = processes.name)
       AND NOT EXISTS (SELECT 1 FROM sources WHERE lease_process = processes.name AND lease_until > 0)`,
  );

  const addMail = createMailWriter(db);

  const namesOf = ({ process, own, dead }: Departed) => JSON.stringify(own ? [...dead, process] : dead);

  return {
    endLaneLeases(departed: Departed): void {
      register.run(departed.process);
      endLanes.run(namesOf(departed));
      forget.run(JSON.stringify(departed.dead));
    },
    /** The ids of the sources that were being read. Those that a dead process read rest. */
    endSourceLeases(departed: Departed & { now: number }): string[] {
      register.run(departed.process);
      const { dead, now } = departed;
      for (const [place, { id, tenantId, name, brokenOff }] of selectBroken
        .all(JSON.stringify(dead))
        .entries()) {
        const { error, isPaused, notBefore } = afterBrokenRun({ times: brokenOff + 1, place, now });
        breakOff.run({ id, now, error: JSON.stringify(error), notBefore, isPaused: isPaused ? 1 : 0 });
        if (!isPaused) continue;
        const facts = { kind: 'source_paused', sourceId: id, name, message: error.message } as const;
        addMail({ id: `mail_${id}_paused_${now}`, tenantId, facts, createdAt: now });
      }
      const ended = endSources.all(namesOf(departed));
      forget.run(JSON.stringify(departed.dead));
      return ended;
    },
  };
}
