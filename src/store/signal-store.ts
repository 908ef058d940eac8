import type { ObservedCompany } from '../model/company.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { SignalQuery } from '../model/signal.ts';

/** A scored signal ready to be stored, with the events and deliveries it causes. */
export interface NewSignal {
  id: string;
  tenantId: string;
  profileId: string;
  platform: string;
  externalId: string | null;
  /** Canonical post URL, or null where there is none; with `externalId` it makes a post known again. */
  canonicalUrl: string | null;
  signalType: string;
  classification: string;
  score: number;
  /** When it was detected, Unix milliseconds. */
  timestamp: number;
  companyDomain: string;
  /** What it says of the company at `companyDomain`; null where it names none. */
  company: ObservedCompany | null;
  /** What its author is known again by (`model/person-keys.ts`). */
  personKeys: string[];
  /** The signal as JSON text, exactly as every answer shows it. */
  wire: string;
  /** The explanation as JSON text. */
  explanation: string;
  text: string;
  events: RoutedEvent[];
}

/** What became of a {@link NewSignal}: stored, or the one that was there already (`id` and `wire` are then that one's). */
export interface CommittedSignal {
  status: 'created' | 'duplicate';
  id: string;
  wire: string;
}

/** A page of wire JSON texts; `last` is the keyset position of its last row, null when nothing follows. */
export interface SignalPage {
  rows: string[];
  last: (string | number)[] | null;
}

/** A signal with what only its own route shows. JSON texts as stored. */
export interface SignalDetail {
  wire: string;
  explanation: string;
  text: string;
}

/** Profiles and the signals matched with them. */
export interface SignalStore {
  listProfiles(tenantId: string): Promise<IcpProfile[]>;
  /** All or nothing: each new signal with its events, deliveries and skip reasons. A duplicate brings none of them. */
  commitSignals(signals: NewSignal[]): Promise<CommittedSignal[]>;
  getSignal(tenantId: string, id: string): Promise<SignalDetail | null>;
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage>;
}
