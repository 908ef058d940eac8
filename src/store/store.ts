import type { ClaimedDelivery, Outcome } from '../model/delivery.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ApiKey } from '../model/key.ts';
import type { SignalQuery } from '../model/signal.ts';
import type { Owner, Plan, Tenant } from '../model/tenant.ts';
import type { Endpoint } from '../model/webhook.ts';

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

/** How much one endpoint may be given by a claim; `knownVersion` is the caller's copy of the endpoint (-1: none). */
export interface LaneDemand {
  endpointId: string;
  limit: number;
  knownVersion: number;
}

export interface ClaimRequest {
  lanes: LaneDemand[];
  /** Unix milliseconds; what is due at or before it is claimed. */
  now: number;
  /** When an unfinished claim may be taken again. */
  leaseUntil: number;
  leaseToken: string;
}

/** One endpoint's part of a claim. */
export interface LaneClaim {
  endpointId: string;
  deliveries: ClaimedDelivery[];
  /** When the next delivery that was not claimed is due; null: none waits. */
  nextDueAt: number | null;
  /** The endpoint, where it is newer than the caller's copy; null: unchanged; `gone`: deleted or paused. */
  endpoint: Endpoint | null | 'gone';
}

/** An endpoint with waiting work, as the dispatcher finds it at start. */
export interface DueLane {
  endpointId: string;
  tenantId: string;
  nextDueAt: number;
}

/**
 * Everything the product asks of its storage: one method, one use case, one atomic change, durable when its promise
 * resolves. Methods reject with `DomainError` (`UNAVAILABLE` where the storage is full or busy) and change nothing then.
 */
export interface Store {
  // tenants and keys
  createTenant(change: { tenant: Tenant; owner: Owner; profile: IcpProfile; key: ApiKey }): Promise<void>;
  listTenants(): Promise<(Tenant & { ownerEmail: string })[]>;
  getTenant(id: string): Promise<Tenant | null>;
  /** False where there is no such tenant. */
  setPlan(tenantId: string, plan: Plan, trialEndsAt: number | null): Promise<boolean>;
  createKey(key: ApiKey): Promise<void>;
  listKeys(tenantId: string | null): Promise<ApiKey[]>;
  /** The key with its tenant, looked up by SHA-256; revoked and expired ones too. */
  findKey(hash: string): Promise<{ key: ApiKey; tenant: Tenant } | null>;
  /** Last use, to the minute: written at most once a minute a key. */
  touchKey(id: string, now: number): Promise<void>;
  /** False where there is no such key. Revoking twice keeps the first time. */
  revokeKey(id: string, now: number): Promise<boolean>;

  // signals
  listProfiles(tenantId: string): Promise<IcpProfile[]>;
  /** All or nothing: each new signal with its events, deliveries and skip reasons. A duplicate brings none of them. */
  commitSignals(signals: NewSignal[]): Promise<CommittedSignal[]>;
  getSignal(tenantId: string, id: string): Promise<SignalDetail | null>;
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage>;

  // webhook endpoints
  /** `limit` endpoints at most; `CONFLICT`-free: false where the tenant has that many already. */
  createEndpoint(endpoint: Endpoint, limit: number | null): Promise<boolean>;
  listEndpoints(tenantId: string): Promise<Endpoint[]>;
  getEndpoint(tenantId: string, id: string): Promise<Endpoint | null>;
  /** Deletes it and discards what still waits for it; false where there is none. */
  deleteEndpoint(tenantId: string, id: string, now: number): Promise<boolean>;

  // deliveries
  /** Makes deliveries that a dead process had claimed due again, and returns every endpoint with waiting work. */
  recoverDeliveries(now: number): Promise<DueLane[]>;
  /** Every active endpoint with waiting work: the safety net for work that another process stored. */
  listDueLanes(): Promise<DueLane[]>;
  claimDeliveries(request: ClaimRequest): Promise<LaneClaim[]>;
  /** False where the lease was lost: then only the attempt is kept. */
  recordOutcome(outcome: Outcome): Promise<boolean>;
  /** Start times of the endpoint's attempts after `since`, ascending: what the throttle must remember over a restart. */
  recentAttempts(since: number): Promise<{ endpointId: string; startedAt: number }[]>;
  getDelivery(tenantId: string, id: string): Promise<DeliveryLog | null>;

  /** Reads and writes; rejects where the store cannot do either. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

/** A delivery with its attempts, oldest first. */
export interface DeliveryLog {
  id: string;
  endpointId: string;
  eventId: string;
  status: string;
  body: string;
  attemptCount: number;
  nextAttemptAt: number | null;
  createdAt: number;
  attempts: import('../model/delivery.ts').AttemptRecord[];
}
