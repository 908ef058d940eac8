import { DAY_MS } from '../../lib/clock.ts';
import type { NewMail } from '../../model/mail.ts';
import type { DigestStore, MailStore } from '../mail-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createEventWriter, type EventStatements } from './events.ts';

export interface MailStatements extends EventStatements {
  mail: {
    insertMail(
      id: string,
      tenantId: string,
      kind: string,
      facts: string,
      createdAt: number,
      nextTryAt: number,
    ): void;
    /** When the mail was sent that must expire before another may be sent. */
    selectInTheWay(key: string, since: number, newer: number): number | undefined;
    count(key: string, now: number): void;
    pruneCounts(before: number, after: number): void;
    markSent(now: number, id: string): boolean;
    markFailed(nextTryAt: number | null, id: string): boolean;
    resendMail(now: number, id: string, tenantId: string): boolean;
    markAnnounced(id: string): void;
    updateSettings(row: Record<string, unknown>): boolean;
    setDigestMail(row: Record<string, unknown>): boolean;
    advanceDigest(row: Record<string, unknown>): boolean;
    pruneMail(before: number, limit: number): number;
  };
}

/** Stores a mail as part of the change it is about; a repeated ID changes nothing. */
export function createMailWriter(ask: Asks<MailStatements>): (mail: NewMail) => Script<void> {
  return function* ({ id, tenantId, facts: { kind, ...rest }, createdAt }) {
    yield* ask.mail.insertMail(id, tenantId, kind, JSON.stringify(rest), createdAt, createdAt);
  };
}

/** The longest period of a limit. */
const COUNTED_MS = DAY_MS;

/** The states of mail in the outbox. */
export function mailChanges(ask: Asks<MailStatements>) {
  return {
    *countMail(quotas, now) {
      yield* ask.mail.pruneCounts(now - COUNTED_MS, now + COUNTED_MS);
      for (const { key, most, withinMs } of quotas) {
        const inTheWay = yield* ask.mail.selectInTheWay(key, now - withinMs, most - 1);
        if (inTheWay !== undefined) return { key, waitMs: Math.min(withinMs, inTheWay + withinMs - now) };
      }
      for (const { key } of quotas) yield* ask.mail.count(key, now);
      return null;
    },
    addMail: createMailWriter(ask),
    markMailSent: (id, now) => ask.mail.markSent(now, id),
    markMailFailed: (id, nextTryAt) => ask.mail.markFailed(nextTryAt, id),
    resendMail: (tenantId, id, now) => ask.mail.resendMail(now, id, tenantId),
    *markMailAnnounced(ids) {
      for (const id of ids) yield* ask.mail.markAnnounced(id);
    },
    pruneMail: (before, limit) => ask.mail.pruneMail(before, limit),
  } satisfies Scripts<MailStore>;
}

/** Settings of tenants, and the results of their digests. */
export function digestChanges(ask: Asks<MailStatements>) {
  const insertRouted = createEventWriter(ask);
  const addMail = createMailWriter(ask);

  return {
    *saveSettings({ tenantId, timezone, digest, digestDueAt, digestSince, digestPosition }) {
      const { enabled, hour, frequency, icp_profile_ids: ids } = digest;
      const due = { digestDueAt, digestSince, digestPosition };
      const when = { timezone, enabled: enabled ? 1 : 0, hour, frequency, profileIds: JSON.stringify(ids) };
      return yield* ask.mail.updateSettings({ tenantId, ...when, ...due });
    },
    *setDigestReader(tenantId, userId, wanted) {
      return yield* ask.mail.setDigestMail({ tenantId, userId, wanted: wanted ? 1 : 0 });
    },
    *commitDigest({ event, mails, ...step }) {
      if (!(yield* ask.mail.advanceDigest(step))) return false;
      if (event !== null) yield* insertRouted(event);
      for (const mail of mails) yield* addMail(mail);
      return true;
    },
  } satisfies Scripts<DigestStore>;
}
