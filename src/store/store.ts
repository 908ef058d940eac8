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
import type { BackfillStore, BatchStore, EventStore, FeedStore, NoticeStore } from './event-store.ts';
import type { FiguresStore, StorePulse } from './figures.ts';
import type { LeadStore } from './lead-store.ts';
import type { DigestStore, MailStore } from './mail-store.ts';
import type { ProfileStore } from './profile-store.ts';
import type { HeldKey, IdempotencyStore, JobStore } from './request-store.ts';
import type { SignalStore } from './signal-store.ts';
import type { SourceStore } from './source-store.ts';

/**
 * Everything the product asks of its storage: one method, one use case, one atomic change, durable when its promise
 * resolves. Methods reject with `DomainError` (`UNAVAILABLE` where the storage is full or busy) and change nothing then.
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
    DigestStore,
    BackfillStore,
    BatchStore,
    IdempotencyStore,
    JobStore,
    SourceStore,
    SubscriptionStore,
    FiguresStore {
  /**
   * The store for a held request's changes: each is stored in one commit with the fact that the request has made it, and
   * one that an earlier run has made is not made again but answered as it was then. What changes nothing (`false`, `null`)
   * is not kept. A holder that lost the key meanwhile changes nothing any more (`IDEMPOTENCY_IN_FLIGHT`).
   */
  keeping(held: HeldKey, item?: string): Store;
  /**
   * Calls `listener`, which never throws, after each commit of this process that made anything due, before the changes are
   * answered. What other processes commit is found by looking.
   */
  onCommitted(listener: (made: MadeDue) => void): void;
  /** Reads and writes; rejects where the store cannot do either. */
  probe(): Promise<void>;
  /** Says that this process serves from the storage, and counts others that do. */
  countOthers(): Promise<number>;
  /** See {@link Presence.epoch}. */
  epoch(): number | null;
  /** Whether this process is the one of several nodes that does what one alone is to do. */
  isOnDuty(): Promise<boolean>;
  /** Adds up what all nodes count under a name: `onCounted` is called for what others counted, and the answer for each of one's own. */
  shareCounts(
    window: string,
    onCounted: (key: string, count: number) => void,
  ): (key: string, count: number) => void;
  close(): Promise<void>;
}

/** What a commit made due, for those who work on what is stored. */
export interface MadeDue {
  /** Endpoints with something new to send, or that is too large and will not be sent. */
  due: NewWork[];
  /** Endpoints that were changed, or that something was taken from: nothing more is sent by a copy of them. */
  endpoints: string[];
  /** Sources were changed: one may be due sooner than planned. */
  sources: boolean;
}

/** The store as a process has opened it, with how its driver is doing. */
export interface OpenedStore extends Store {
  /** At once, from memory and the file system. */
  pulse(): StorePulse;
}
