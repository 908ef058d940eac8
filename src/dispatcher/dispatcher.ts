import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Tracer } from '../lib/tracing.ts';
import type { NewWork } from '../model/event.ts';
import type { Store } from '../store/store.ts';
import type { Reserve } from '../webhooks/in-hand.ts';
import type { SendTest } from '../webhooks/test-delivery.ts';
import type { DispatcherTally } from './tally.ts';

/** What the dispatcher needs of the process. */
export interface DispatcherParts {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
  /** Addresses exempt from the public-HTTPS rule. */
  allowTargets: AddressSet;
  /** Local address of outgoing connections; null: the system's choice. */
  localAddress: string | null;
  /** One structured log line; never given bodies, secrets or URLs with a query. */
  log: DispatcherLog;
  /** Null or left out: nothing is traced. */
  tracer?: Tracer | null;
}

export interface DispatcherLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** How it is doing. */
export interface DispatcherPulse {
  tally: DispatcherTally;
  /** Requests that are under way. */
  inFlight: number;
  /** Outcomes that wait for their commit. */
  uncommitted: number;
  /** Endpoints with work that waits for nothing but their throttle. */
  throttled: number;
  /** Why nothing is delivered that should be, in words for an operator; null: all is well. */
  stuck: string | null;
}

/** Takes stored deliveries to their receivers. */
export interface Dispatcher {
  /** Recovers what a dead process had in flight and begins to deliver; returns how many endpoints have work that waits. */
  start(): Promise<number>;
  /** Says that new work was committed for these endpoints. Cheap, synchronous, never throws. */
  nudge(lanes: readonly NewWork[]): void;
  /** Takes on what can be sent at once, as it is being stored: see {@link Reservation}. Never throws. */
  reserve: Reserve;
  /** Says that an endpoint was changed: every later attempt goes by what is stored now. */
  endpointChanged(endpointId: string): void;
  /** Sends a test at once, within the throttle; works while the endpoint is paused, and leaves count and pause alone. */
  sendTest: SendTest;
  /** Asked for now and then: it looks at every endpoint with work. */
  pulse(): DispatcherPulse;
  /** Stops claiming and waits for what is in flight, at most `graceMs`; then cuts it off (it is sent again later). */
  stop(graceMs: number): Promise<void>;
}
