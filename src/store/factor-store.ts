import type { NewMail } from '../model/mail.ts';

/** A person's second factor. `box` is the secret under the master key. */
export interface Factor {
  box: Uint8Array;
  /** Since when it is in force, Unix milliseconds; null: its first code was not seen yet. */
  since: number | null;
  /** The time step of the last code that was taken. */
  step: number;
  /** Recovery codes that are left. */
  codesLeft: number;
}

/** Second factors and their recovery codes, which are known by their SHA-256. */
export interface FactorStore {
  getFactor(userId: string): Promise<Factor | null>;
  /** Keeps a secret that is to be confirmed by a code, in place of one that was not; false where one is in force. */
  offerFactor(userId: string, box: Uint8Array): Promise<boolean>;
  /**
   * Puts the offered one in force, its first code used, with recovery codes, and ends all sessions but the one of `keep`;
   * false where there is none, or it is already.
   */
  confirmFactor(change: {
    userId: string;
    step: number;
    now: number;
    codeHashes: string[];
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Takes the code of a time step; false where one of that step or a later one was taken before. */
  spendStep(userId: string, step: number): Promise<boolean>;
  /** False where there is no such code: it was used, or never was. */
  spendRecoveryCode(userId: string, codeHash: string): Promise<boolean>;
  /** New recovery codes in place of those that were left; false where no second factor is in force. */
  setRecoveryCodes(userId: string, codeHashes: string[], mail?: NewMail): Promise<boolean>;
  /** Takes the second factor away, with its codes; false where none was in force. */
  dropFactor(userId: string, mail?: NewMail): Promise<boolean>;
}
