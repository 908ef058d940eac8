import type { Database } from 'better-sqlite3';
import type { FactorStore } from '../../factor-store.ts';
import type { Part } from '../../store.ts';
import type { TeamStore } from '../../team-store.ts';
import { USERS } from './sessions.ts';

interface FactorRow {
  totp_box: Buffer | null;
  totp_since: number | null;
  totp_step: number;
  codes_left: number;
}

/** Who belongs to a tenant, and their second factors. */
export function teamReads(db: Database) {
  const selectAll = USERS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectOne = USERS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectFactor = db.prepare<[string], FactorRow>(
    `SELECT totp_box, totp_since, totp_step,
            (SELECT count(*) FROM recovery_codes c WHERE c.user_id = o.id) AS codes_left
     FROM owners o WHERE id = ?`,
  );

  return {
    listMembers: (tenantId) => selectAll.all(tenantId),
    getMember: (tenantId, id) => selectOne.get(id, tenantId),
    getFactor(userId) {
      const row = selectFactor.get(userId);
      if (row === undefined || row.totp_box === null) return null;
      const { totp_box: box, totp_since: since, totp_step: step, codes_left: codesLeft } = row;
      return { box, since, step, codesLeft };
    },
  } satisfies Part<TeamStore & FactorStore>;
}
