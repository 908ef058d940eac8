import type { Database } from 'better-sqlite3';
import type { Owner } from '../../../model/tenant.ts';
import type { AccountStatements } from '../../changes/accounts.ts';
import { createLinkRead, KEYS, keyReads, SESSIONS, TENANTS, teamReads } from '../reads/accounts.ts';
import { Table } from '../table.ts';
import { changed, count, encoding, run, value } from './prepared.ts';

/** A user as created with the tenant; `reads/accounts.ts` has the columns added later. */
const OWNERS = new Table<Owner>('owners', {
  id: 'plain',
  tenantId: 'plain',
  email: 'plain',
  setupTokenHash: 'plain',
  setupExpiresAt: 'plain',
  createdAt: 'plain',
});

/** Concurrent requests have all read the same last use; one of them writes it. */
const TOUCH_EVERY_MS = 60_000;

export function accountsSql(db: Database): AccountStatements['accounts'] {
  return {
    insertSettings: run(db, 'INSERT INTO tenant_settings (tenant_id, digest_since) VALUES (?, ?)'),
    selectAnyTenant: value(db, 'SELECT 1 FROM tenants LIMIT 1'),
    updatePlan: changed(db, 'UPDATE tenants SET plan = ?, trial_ends_at = ? WHERE id = ?'),
    endTrial: changed(
      db,
      "UPDATE tenants SET plan = ? WHERE id = ? AND plan = 'trial' AND trial_ends_at <= ?",
    ),
    insertTenant: TENANTS.insert(db),
    insertOwner: OWNERS.insert(db),
    insertKey: KEYS.insert(db),
    updateLink: changed(db, 'UPDATE owners SET setup_token_hash = ?, setup_expires_at = ? WHERE id = ?'),
    updatePassword: changed(
      db,
      "UPDATE owners SET password_hash = ?, setup_token_hash = '', setup_expires_at = 0 WHERE id = ?",
    ),
    deleteSessions: run(db, 'DELETE FROM sessions WHERE user_id = ?'),
    deleteSession: changed(db, 'DELETE FROM sessions WHERE token_hash = ?'),
    deleteSessionById: changed(db, 'DELETE FROM sessions WHERE user_id = ? AND id = ?'),
    deleteOtherSessions: changed(db, 'DELETE FROM sessions WHERE user_id = ? AND token_hash <> ?'),
    touchSession: run(db, 'UPDATE sessions SET seen_at = ?, expires_at = ? WHERE token_hash = ?'),
    deleteExpiredSessions: count(
      db,
      'DELETE FROM sessions WHERE token_hash IN (SELECT token_hash FROM sessions WHERE expires_at < ? LIMIT ?)',
    ),
    // Keeps only the newest ones.
    deleteSessionsBeyond: run(
      db,
      `DELETE FROM sessions WHERE user_id = ? AND token_hash IN
       (SELECT token_hash FROM sessions WHERE user_id = ? ORDER BY created_at DESC, token_hash LIMIT -1 OFFSET ?)`,
    ),
    insertSession: SESSIONS.insert(db),
    insertMember: run(
      db,
      `INSERT INTO owners (id, tenant_id, email, role, setup_token_hash, setup_expires_at, created_at)
     VALUES (:id, :tenantId, :email, :role, :tokenHash, :expiresAt, :createdAt)`,
    ),
    selectAddress: value(db, 'SELECT 1 FROM owners WHERE tenant_id = ? AND lower(email) = lower(?)'),
    countMembers: value(db, 'SELECT count(*) FROM owners WHERE tenant_id = ?'),
    // An invited owner without a password cannot let anyone in.
    selectOtherOwner: value(
      db,
      `SELECT 1 FROM owners WHERE tenant_id = ? AND id <> ? AND role = 'owner' AND password_hash IS NOT NULL LIMIT 1`,
    ),
    updateRole: run(db, 'UPDATE owners SET role = ? WHERE id = ?'),
    deleteCodes: run(db, 'DELETE FROM recovery_codes WHERE user_id = ?'),
    deleteMember: run(db, 'DELETE FROM owners WHERE id = ?'),
    offerFactor: changed(db, 'UPDATE owners SET totp_box = ? WHERE id = ? AND totp_since IS NULL'),
    confirmFactor: changed(
      db,
      `UPDATE owners SET totp_since = ?, totp_step = ?
     WHERE id = ? AND totp_box IS NOT NULL AND totp_since IS NULL`,
    ),
    spendStep: changed(
      db,
      'UPDATE owners SET totp_step = ? WHERE id = ? AND totp_since IS NOT NULL AND totp_step < ?',
    ),
    dropFactor: changed(
      db,
      'UPDATE owners SET totp_box = NULL, totp_since = NULL WHERE id = ? AND totp_since IS NOT NULL',
    ),
    selectFactor: value(db, 'SELECT 1 FROM owners WHERE id = ? AND totp_since IS NOT NULL'),
    insertCode: run(db, 'INSERT INTO recovery_codes (user_id, code_hash) VALUES (?, ?)'),
    spendCode: changed(db, 'DELETE FROM recovery_codes WHERE user_id = ? AND code_hash = ?'),
    countKeys: value(db, 'SELECT count(*) FROM api_keys WHERE tenant_id = ? AND revoked_at IS NULL'),
    deleteRevokedBeyond: run(
      db,
      `DELETE FROM api_keys WHERE id IN
       (SELECT id FROM api_keys WHERE tenant_id = ? AND revoked_at IS NOT NULL ORDER BY revoked_at DESC, id LIMIT 1000 OFFSET ?)`,
    ),
    updateKey: encoding(
      KEYS,
      run(
        db,
        `UPDATE api_keys SET name = :name, scopes = :scopes, rate_limit = :rateLimit, expires_at = :expiresAt
     WHERE id = :id`,
      ),
    ),
    touchKey: run(
      db,
      `UPDATE api_keys SET last_used_at = :now
     WHERE id = :id AND ifnull(last_used_at, 0) <= :now - ${TOUCH_EVERY_MS}`,
    ),
    revokeKey: changed(db, 'UPDATE api_keys SET revoked_at = ifnull(revoked_at, ?) WHERE id = ?'),
    pruneKeys: count(
      db,
      'DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE revoked_at < ? LIMIT ?)',
    ),
    getKey: keyReads(db).getKey,
    getMember: teamReads(db).getMember,
    userOfLink: createLinkRead(db),
  };
}
