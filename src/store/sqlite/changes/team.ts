import type { Database } from 'better-sqlite3';
import type { FactorStore } from '../../factor-store.ts';
import type { Part } from '../../store.ts';
import type { TeamStore } from '../../team-store.ts';
import { teamReads } from '../reads/team.ts';
import { createMailWriter } from './mail.ts';

/** Who belongs to a tenant, and their second factors. */
export function teamChanges(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO owners (id, tenant_id, email, role, setup_token_hash, setup_expires_at, created_at)
     VALUES (:id, :tenantId, :email, :role, :tokenHash, :expiresAt, :createdAt)`,
  );
  const selectAddress = db
    .prepare<[string, string], number>('SELECT 1 FROM owners WHERE tenant_id = ? AND lower(email) = lower(?)')
    .pluck();
  const count = db.prepare<[string], number>('SELECT count(*) FROM owners WHERE tenant_id = ?').pluck();
  // One who was invited and has no password yet cannot let anybody in.
  const selectOtherOwner = db
    .prepare<[string, string], number>(
      `SELECT 1 FROM owners WHERE tenant_id = ? AND id <> ? AND role = 'owner' AND password_hash IS NOT NULL LIMIT 1`,
    )
    .pluck();
  const updateRole = db.prepare<[string, string]>('UPDATE owners SET role = ? WHERE id = ?');
  const deleteSessions = db.prepare<[string]>('DELETE FROM sessions WHERE user_id = ?');
  const deleteOtherSessions = db.prepare<[string, string]>(
    'DELETE FROM sessions WHERE user_id = ? AND token_hash <> ?',
  );
  const deleteCodes = db.prepare<[string]>('DELETE FROM recovery_codes WHERE user_id = ?');
  const remove = db.prepare<[string]>('DELETE FROM owners WHERE id = ?');
  const { getMember } = teamReads(db);
  const addMail = createMailWriter(db);

  const offer = db.prepare<[Uint8Array, string]>(
    'UPDATE owners SET totp_box = ? WHERE id = ? AND totp_since IS NULL',
  );
  const confirm = db.prepare<[number, number, string]>(
    `UPDATE owners SET totp_since = ?, totp_step = ?
     WHERE id = ? AND totp_box IS NOT NULL AND totp_since IS NULL`,
  );
  const spendStep = db.prepare<[number, string, number]>(
    'UPDATE owners SET totp_step = ? WHERE id = ? AND totp_since IS NOT NULL AND totp_step < ?',
  );
  const drop = db.prepare<[string]>(
    'UPDATE owners SET totp_box = NULL, totp_since = NULL WHERE id = ? AND totp_since IS NOT NULL',
  );
  const selectInForce = db
    .prepare<[string], number>('SELECT 1 FROM owners WHERE id = ? AND totp_since IS NOT NULL')
    .pluck();
  const insertCode = db.prepare<[string, string]>(
    'INSERT INTO recovery_codes (user_id, code_hash) VALUES (?, ?)',
  );
  const spendCode = db.prepare<[string, string]>(
    'DELETE FROM recovery_codes WHERE user_id = ? AND code_hash = ?',
  );

  const isLastOwner = (tenantId: string, id: string) => selectOtherOwner.get(tenantId, id) === undefined;

  function replaceCodes(userId: string, hashes: readonly string[]): void {
    deleteCodes.run(userId);
    for (const hash of hashes) insertCode.run(userId, hash);
  }

  return {
    addMember({ user: { id, tenantId, email, role, createdAt }, link, mail }, limit) {
      if (selectAddress.get(tenantId, email) !== undefined) return 'known';
      if ((count.get(tenantId) ?? 0) >= limit) return 'full';
      insert.run({ id, tenantId, email, role, createdAt, ...link });
      addMail(mail);
      return 'added';
    },
    changeRole(tenantId, id, role) {
      const member = getMember(tenantId, id);
      if (member === null) return 'missing';
      if (member.role === role) return 'same';
      if (member.role === 'owner' && isLastOwner(tenantId, id)) return 'last_owner';
      updateRole.run(role, id);
      return 'changed';
    },
    removeMember(tenantId, id) {
      const member = getMember(tenantId, id);
      if (member === null) return 'missing';
      if (member.role === 'owner' && isLastOwner(tenantId, id)) return 'last_owner';
      deleteSessions.run(id);
      deleteCodes.run(id);
      remove.run(id);
      return 'removed';
    },
    offerFactor: (userId, box) => offer.run(box, userId).changes === 1,
    confirmFactor({ userId, step, now, codeHashes, keep, mail }) {
      if (confirm.run(now, step, userId).changes === 0) return false;
      replaceCodes(userId, codeHashes);
      deleteOtherSessions.run(userId, keep);
      if (mail !== undefined) addMail(mail);
      return true;
    },
    spendStep: (userId, step) => spendStep.run(step, userId, step).changes === 1,
    spendRecoveryCode: (userId, hash) => spendCode.run(userId, hash).changes === 1,
    setRecoveryCodes(userId, hashes, mail) {
      if (selectInForce.get(userId) === undefined) return false;
      replaceCodes(userId, hashes);
      if (mail !== undefined) addMail(mail);
      return true;
    },
    dropFactor(userId, mail) {
      if (drop.run(userId).changes === 0) return false;
      deleteCodes.run(userId);
      if (mail !== undefined) addMail(mail);
      return true;
    },
  } satisfies Part<TeamStore & FactorStore>;
}
