import { DAY_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';

/** How long the links of a mail count. */
export const FEEDBACK_LINK_MS = 30 * DAY_MS;

/** What a link does to a signal: says whether it was relevant, or adds it to the pipeline. */
const LINK_ACTS = ['not_relevant', 'relevant', 'add'] as const;
export type LinkAct = (typeof LINK_ACTS)[number];

/** What a link of a mail or a message says when it is acted on. */
export interface MailedAct {
  tenantId: string;
  signalId: string;
  act: LinkAct;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Whose digest ends by a link. */
export interface MailedUnsubscription {
  tenantId: string;
  userId: string;
}

/** Signed links, so that everybody who has one may do just that. */
export interface FeedbackLinks {
  /** Its address under `baseUrl`. */
  make(act: MailedAct): string;
  /** What a token says, expired or not; null where it is damaged or forged. */
  read(token: string): MailedAct | null;
  /** Where a person's digest ends; it counts for as long as the person is there. */
  makeUnsubscribe(who: MailedUnsubscription): string;
  readUnsubscribe(token: string): MailedUnsubscription | null;
}

const SCOPE = 'feedback by mail';
const UNSUBSCRIBE = 'digest ends';

/** Signed as page positions are, in scopes of their own. */
export function createFeedbackLinks(cursors: Cursors, baseUrl: string): FeedbackLinks {
  return {
    make: ({ tenantId, signalId, act, expiresAt }) =>
      `${baseUrl}/feedback/${cursors.encode(SCOPE, [tenantId, signalId, LINK_ACTS.indexOf(act), expiresAt])}`,
    read(token) {
      const said = cursors.decode(SCOPE, token);
      if (said === null) return null;
      const [tenantId, signalId, act, expiresAt] = said;
      return {
        tenantId: String(tenantId),
        signalId: String(signalId),
        act: LINK_ACTS[Number(act)] ?? 'not_relevant',
        expiresAt: Number(expiresAt),
      };
    },
    makeUnsubscribe: ({ tenantId, userId }) =>
      `${baseUrl}/digest/unsubscribe/${cursors.encode(UNSUBSCRIBE, [tenantId, userId])}`,
    readUnsubscribe(token) {
      const said = cursors.decode(UNSUBSCRIBE, token);
      return said === null ? null : { tenantId: String(said[0]), userId: String(said[1]) };
    },
  };
}
