import type { RoutedEvent } from '../model/event.ts';
import type { NewMail } from '../model/mail.ts';
import type { TenantSettings } from '../model/settings.ts';

/** What was found in a range of time. */
export interface FoundSignals {
  hot: number;
  warm: number;
  /** The best of them as wire JSON, best first. */
  wires: string[];
}

/** A digest with all that it brings about. */
export interface DigestChange {
  tenantId: string;
  /** As it was read: of two that make the same digest one does. */
  expectedDueAt: number;
  nextDueAt: number;
  /** Up to when signals are told of now. */
  since: number;
  /** When it was made; null: there was nothing to tell. */
  madeAt: number | null;
  event: RoutedEvent | null;
  mail: NewMail | null;
}

/** Settings of tenants and their daily digests. */
export interface DigestStore {
  getSettings(tenantId: string): Promise<TenantSettings | null>;
  /** Stores settings and when the next digest is due; false where the tenant is gone. */
  saveSettings(
    settings: Pick<TenantSettings, 'tenantId' | 'timezone' | 'digest' | 'digestDueAt' | 'digestSince'>,
  ): Promise<boolean>;
  /** Those whose digest is due, the longest due first; those that are not planned yet too. */
  dueDigests(now: number, limit: number): Promise<TenantSettings[]>;
  /** The hot and warm signals with `from` <= timestamp < `to`; of very many the newest are looked at. */
  findBest(tenantId: string, range: { from: number; to: number; limit: number }): Promise<FoundSignals>;
  /** Event, deliveries, mail and the next time in one commit; false where it is not due any more. */
  commitDigest(change: DigestChange): Promise<boolean>;
}
