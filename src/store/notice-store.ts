import type { EndpointNotice, RoutedEvent } from '../model/event.ts';

/** Notices of one tenant, made events. */
export interface NoticeChange {
  tenantId: string;
  ids: number[];
  events: RoutedEvent[];
}

/** What happened to endpoints and deliveries, waiting to be made events with their deliveries. */
export interface NoticeStore {
  /** The oldest first. */
  listNotices(limit: number): Promise<EndpointNotice[]>;
  /** The events in place of the notices, in one commit; false, and nothing, where one of these is gone. */
  commitNotices(change: NoticeChange): Promise<boolean>;
}
