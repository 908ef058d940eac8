import type { NewWork } from '../model/event.ts';
import type {
  AccountStore,
  AuditStore,
  FactorStore,
  KeyStore,
  PlanStore,
  SessionStore,
  TeamStore,
} from './account-store.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { CompanyStore } from './company-store.ts';
import type { DeliveryLogStore } from './delivery-log-store.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { EndpointStore, SubscriptionStore } from './endpoint-store.ts';
import type { ErasureStore } from './erasure-store.ts';
import type {
  BackfillStore,
  BatchStore,
  EventStore,
  FeedStore,
  NoticeStore,
  RemainderStore,
} from './event-store.ts';
import type { FiguresStore, StorePulse } from './figures.ts';
import type { LeadStore } from './lead-store.ts';
import type { DigestStore, MailStore } from './mail-store.ts';
import type { ProfileStore } from './profile-store.ts';
import type { HeldKey, IdempotencyStore, JobStore } from './request-store.ts';
import type { SignalStore } from './signal-store.ts';
import type { SourceStore } from './source-store.ts';

/**
 * The interface of the storage: one method is one use case and one atomic change, durable when its promise resolves.
 * Methods reject with `DomainError` (`UNAVAILABLE` if the storage is full or busy), and then change nothing.
 */
export interface Store
  extends AccountStore,
    SessionStore,
    TeamStore,
    FactorStore,
    AuditStore,
    KeyStore,
    ProfileStore,
    SignalStore,
    LeadStore,
    ErasureStore,
    CampaignStore,
    CompanyStore,
    EndpointStore,
    DeliveryStore,
    EventStore,
    FeedStore,
    DeliveryLogStore,
    PlanStore,
    MailStore,
    NoticeStore,
    RemainderStore,
    DigestStore,
    BackfillStore,
    BatchStore,
    IdempotencyStore,
    JobStore,
    SourceStore,
    SubscriptionStore,
    FiguresStore {
  /**
   * The store for the changes of a held request: each is stored in one commit with a record that the request has made
   * it; a change that an earlier run has made is not repeated, and its recorded result is returned. Calls without
   * effect (`false`, `null`) are not recorded. A holder that has lost the key changes nothing any more
   * (`IDEMPOTENCY_IN_FLIGHT`).
   */
  keeping(held: HeldKey, item?: string): Store;
  /**
   * Runs `work`, which makes several changes, while no other work of this process with the same owner and one of the same
   * names runs. `lockOut` waits until that applies to other nodes as well, and returns whether there may be any.
   */
  inTurn<T>(
    owner: string,
    names: readonly string[],
    work: (lockOut: () => Promise<boolean>) => Promise<T>,
  ): Promise<T>;
  /**
   * Calls `listener`, which never throws, after each commit of this process that made anything due, before the
   * promises of its changes resolve. Commits of other processes are found by polling.
   */
  onCommitted(listener: (made: MadeDue) => void): void;
  /** Reads and writes; rejects if the store cannot do both. */
  probe(): Promise<void>;
  /** Registers this process as a server on the storage, and counts the others. */
  countOthers(): Promise<number>;
  /** See {@link Presence.epoch}. */
  epoch(): number | null;
  /** Whether this node runs the jobs that only one of several nodes may run. */
  isOnDuty(): Promise<boolean>;
  /**
   * Adds up the counts of all nodes under a name: `onCounted` receives counts of others; call the returned function
   * for one's own.
   */
  shareCounts(
    window: string,
    onCounted: (key: string, count: number) => void,
  ): (key: string, count: number) => void;
  close(): Promise<void>;
}

/** What a commit made due, for dispatcher and poller. */
export interface MadeDue {
  /** Endpoints with new deliveries, including those that are too large to be sent. */
  due: NewWork[];
  /** Endpoints that changed, or lost deliveries: nothing more may be sent from copies of them. */
  endpoints: string[];
  /** Sources changed: one may be due sooner than planned. */
  sources: boolean;
}

/** The opened store of a process, with the state of its driver. */
export interface OpenedStore extends Store {
  /** Immediate, from memory and the file system. */
  pulse(): StorePulse;
}
