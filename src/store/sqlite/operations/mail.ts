import type { Database } from 'better-sqlite3';
import type { NewMail } from '../../../model/mail.ts';
import { createOutboxSql, enqueueMail } from '../tables/outbox.ts';

export function mailOperations(db: Database) {
  const outbox = createOutboxSql(db);
  const add = enqueueMail(db);

  return {
    addMail: (mail: NewMail): void => add(mail),
    markMailSent: (id: string, now: number): boolean => outbox.markSent(id, now),
    markMailFailed: (id: string, nextTryAt: number | null): boolean => outbox.markFailed(id, nextTryAt),
    markMailAnnounced: (ids: string[]): void => outbox.markAnnounced(ids),
    pruneMail: (before: number, limit: number): number => outbox.prune(before, limit),
  };
}
