import type { EventRow, NewDelivery } from '../model/event.ts';
import type { Classification } from '../model/signal.ts';

/** An endpoint for which events wait to be sent in one message. */
export interface WaitingBatch {
  endpointId: string;
  tenantId: string;
  /** When the oldest of them happened, Unix milliseconds. */
  since: number;
}

/** The oldest events that wait for an endpoint, and the signals that they tell of, each once. */
export interface BatchedSignals {
  /** How many events. */
  events: number;
  /** The newest of them. */
  last: EventRow;
  counts: Record<Classification, number>;
  /** The best of the signals as wire JSON, best first. */
  wires: string[];
}

/** A message made of what was read: it is stored where that still waits, and has not changed. */
export interface BatchChange {
  endpointId: string;
  tenantId: string;
  read: Pick<BatchedSignals, 'events' | 'last' | 'wires'>;
  delivery: NewDelivery;
  now: number;
}

/** What is sent in one message instead of one by one. */
export interface BatchStore {
  /** Every endpoint for which events wait, deleted ones too. */
  listWaitingBatches(): Promise<WaitingBatch[]>;
  /** The oldest `limit` events that wait for an endpoint, with the `best` best signals; null: none waits. */
  readBatch(endpointId: string, limits: { limit: number; best: number }): Promise<BatchedSignals | null>;
  /** The delivery of a message, and that its events wait no more, in one commit; false where they have changed. */
  commitBatch(batch: BatchChange): Promise<boolean>;
  /** Forgets up to `limit` events that wait for an endpoint; how many there were. */
  dropBatched(endpointId: string, limit: number): Promise<number>;
}
