import type { DigestFrequency, Role } from './tenant.ts';
import type { PausedReason } from './webhook.ts';

/** What became of what a person logs in with. */
export type CredentialsChange =
  | 'password'
  | 'password_by_link'
  | 'second_factor_on'
  | 'second_factor_off'
  | 'recovery_codes';

/**
 * Mail to an account's owner, by what it tells. It is stored with the change it tells of, as facts; text and address are
 * made when it is sent.
 */
export type MailFacts =
  | {
      kind: 'endpoint_paused';
      endpointId: string;
      label: string;
      /** Host of the target: its path may hold what only the receiver should know. */
      host: string;
      reason: Exclude<PausedReason, 'manual' | 'plan'>;
    }
  | {
      kind: 'endpoint_failing';
      endpointId: string;
      label: string;
      host: string;
      /** Failed attempts in a row, and at how many it is paused. */
      failures: number;
      pausesAt: number;
    }
  | { kind: 'endpoints_over_plan'; plan: string; limit: number; endpointIds: string[] }
  | {
      kind: 'source_failing';
      sourceId: string;
      name: string;
      /** Unix milliseconds. */
      since: number;
      message: string;
      hint: string;
    }
  | { kind: 'source_paused'; sourceId: string; name: string; message: string }
  | {
      kind: 'digest';
      /** Whom it is for; left out in mail of before: the owner. */
      userId?: string;
      /** Daily where it is left out. */
      frequency?: DigestFrequency;
      date: string;
      counts: { hot: number; warm: number };
      /** Best first. */
      signalIds: string[];
      url: string;
    }
  /** To the person, not to the owner; `box` is the token of a one-time link under the master key, base64. */
  | { kind: 'invitation'; userId: string; tenant: string; role: Role; box: string }
  | { kind: 'password_reset'; userId: string; box: string }
  | {
      kind: 'credentials_changed';
      userId: string;
      change: CredentialsChange;
      /** Unix milliseconds. */
      at: number;
      /** The browser in words, and the network that it was in; empty where that is not known. */
      browser: string;
      network: string;
    }
  | { kind: 'message'; subject: string; text: string };

/** A mail to be stored. `id` is the same for the same cause, so that a repeated change sends one mail. */
export interface NewMail {
  id: string;
  tenantId: string;
  facts: MailFacts;
  createdAt: number;
}

/** A mail of the outbox. `nextTryAt` is null once it was sent or given up. Times are Unix milliseconds. */
export interface Mail extends NewMail {
  tries: number;
  nextTryAt: number | null;
  sentAt: number | null;
  announced: boolean;
}
