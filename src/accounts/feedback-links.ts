import type { Cursors } from '../lib/cursor.ts';

/** How long the links of a mail count. */
export const FEEDBACK_LINK_MS = 30 * 24 * 3_600_000;

/** What a link of a mail says when it is acted on. */
export interface MailedFeedback {
  tenantId: string;
  signalId: string;
  relevant: boolean;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Links that say of a signal whether it was relevant; signed, so that whoever has one may say just that. */
export interface FeedbackLinks {
  /** Its address under `baseUrl`. */
  make(feedback: MailedFeedback): string;
  /** What a token says, expired or not; null where it is damaged or forged. */
  read(token: string): MailedFeedback | null;
}

const SCOPE = 'feedback by mail';

/** Signed as page positions are, in a scope of their own. */
export function createFeedbackLinks(cursors: Cursors, baseUrl: string): FeedbackLinks {
  return {
    make: ({ tenantId, signalId, relevant, expiresAt }) =>
      `${baseUrl}/feedback/${cursors.encode(SCOPE, [tenantId, signalId, relevant ? 1 : 0, expiresAt])}`,
    read(token) {
      const said = cursors.decode(SCOPE, token);
      if (said === null) return null;
      const [tenantId, signalId, relevant, expiresAt] = said;
      return {
        tenantId: String(tenantId),
        signalId: String(signalId),
        relevant: relevant === 1,
        expiresAt: Number(expiresAt),
      };
    },
  };
}
