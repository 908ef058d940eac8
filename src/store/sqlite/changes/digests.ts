import type { Database } from 'better-sqlite3';
import type { DigestStore } from '../../digest-store.ts';
import type { Part } from '../../store.ts';
import { createEventWriter } from './events.ts';
import { createMailWriter } from './mail.ts';

/** Settings of tenants, and what their digests bring about. */
export function digestChanges(db: Database) {
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE tenant_settings
     SET timezone = :timezone, digest_enabled = :enabled, digest_hour = :hour, digest_due_at = :digestDueAt,
         digest_since = :digestSince, digest_position = :digestPosition
     WHERE tenant_id = :tenantId`,
  );
  const advance = db.prepare<Record<string, unknown>[]>(
    `UPDATE tenant_settings
     SET digest_due_at = :nextDueAt, digest_since = :since, digest_position = :position,
         digest_made_at = ifnull(:madeAt, digest_made_at)
     WHERE tenant_id = :tenantId AND digest_due_at = :expectedDueAt AND digest_enabled = 1`,
  );
  const insertRouted = createEventWriter(db);
  const addMail = createMailWriter(db);

  return {
    saveSettings({ tenantId, timezone, digest, digestDueAt, digestSince, digestPosition }) {
      const { enabled, hour } = digest;
      const due = { digestDueAt, digestSince, digestPosition };
      return update.run({ tenantId, timezone, enabled: enabled ? 1 : 0, hour, ...due }).changes === 1;
    },
    commitDigest({ event, mail, ...step }) {
      if (advance.run(step).changes === 0) return false;
      if (event !== null) insertRouted(event);
      if (mail !== null) addMail(mail);
      return true;
    },
  } satisfies Part<DigestStore>;
}
