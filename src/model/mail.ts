import type { DigestFrequency, Role } from './tenant.ts';
import type { PausedReason } from './webhook.ts';

/** A change of a person's credentials. */
export type CredentialsChange =
  | 'password'
  | 'password_by_link'
  | 'second_factor_on'
  | 'second_factor_off'
  | 'recovery_codes';

/**
 * The facts of a mail, by kind. They are stored with the change that the mail reports; text and address are
 * computed when it is sent.
 */
export type MailFacts =
  | {
      kind: 'endpoint_paused';
      endpointId: string;
      label: string;
      /** Host of the URL; its path may contain a secret of the receiver. */
      host: string;
      reason: Exclude<PausedReason, 'manual' | 'plan'>;
    }
  | {
      kind: 'endpoint_failing';
      endpointId: string;
      label: string;
      host: string;
      /** Number of consecutive failures, and the number that pauses the endpoint. */
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
      /** The recipient; omitted in older mail, which goes to the owner. */
      userId?: string;
      /** Daily if omitted. */
      frequency?: DigestFrequency;
      date: string;
      counts: { hot: number; warm: number };
      /** Best first. */
      signalIds: string[];
      url: string;
    }
  /**
   * Sent to the person, not to the owner; `box` is the token of a one-time link, encrypted with the master
   * key, in base64.
   */
  | { kind: 'invitation'; userId: string; tenant: string; role: Role; box: string }
  | { kind: 'password_reset'; userId: string; box: string }
  | {
      kind: 'credentials_changed';
      userId: string;
      change: CredentialsChange;
      /** Unix milliseconds. */
      at: number;
      /** The browser in words, and its network; empty if unknown. */
      browser: string;
      network: string;
    }
  | { kind: 'message'; subject: string; text: string };

/** A mail to store. `id` depends on the cause only, so a repeated change sends one mail. */
export interface NewMail {
  id: string;
  tenantId: string;
  facts: MailFacts;
  createdAt: number;
}

/** A mail in the outbox. `nextTryAt` is null after it was sent or abandoned. Times are Unix milliseconds. */
export interface Mail extends NewMail {
  tries: number;
  nextTryAt: number | null;
  sentAt: number | null;
  announced: boolean;
}
