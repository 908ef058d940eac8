import type { MailStore } from '../../mail-store.ts';
import type { Context } from '../context.ts';
import { createOutboxSql } from '../tables/outbox.ts';

export function mailMethods({ db, writer, read }: Context) {
  const outbox = createOutboxSql(db);

  return {
    addMail: (mail) => writer.run('addMail', mail),
    listMail: (tenantId, limit) => read(() => outbox.list(tenantId, limit)),
    dueMail: (now, limit) => read(() => outbox.due(now, limit)),
    markMailSent: (id, now) => writer.run('markMailSent', id, now),
    markMailFailed: (id, nextTryAt) => writer.run('markMailFailed', id, nextTryAt),
    unannouncedMail: (limit) => read(() => outbox.unannounced(limit)),
    markMailAnnounced: (ids) => writer.run('markMailAnnounced', ids),
    pruneMail: (before, limit) => writer.run('pruneMail', before, limit),
  } satisfies MailStore;
}
