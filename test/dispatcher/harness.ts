import {
  createDispatcher,
  type Dispatcher,
  type DispatcherNetwork,
} from '../../src/dispatcher/dispatcher.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Tracer } from '../../src/lib/tracing.ts';
import type { Outcome } from '../../src/model/delivery.ts';
import { type WebhookInput, webhookInputSchema } from '../../src/model/webhook.ts';
import type { DeliveryLog } from '../../src/store/delivery-store.ts';
import type { Store } from '../../src/store/store.ts';
import { generateSecret } from '../../src/webhooks/signature.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, openTestStore } from '../support/store.ts';

/** Parses addresses for a dispatcher or a target check. */
export const addresses = (...texts: string[]) =>
  createAddressSet(texts.map((text) => parseCidr(text)).filter((cidr) => cidr !== null));

/** A dispatcher with an in-memory store, a manual clock, and real sockets. */
export interface Harness {
  store: Store;
  clock: ManualClock;
  dispatcher: Dispatcher;
  /** Outcomes, in commit order. */
  outcomes: Outcome[];
  /** Resolves when `count` outcomes have been committed in total. */
  committed(count: number): Promise<void>;
  endpoint(
    settings: Partial<WebhookInput> & { url: string },
    tenantId?: string,
  ): Promise<{ id: string; secret: string }>;
  /** Stores `count` deliveries to the endpoint, without notifying the dispatcher. */
  enqueue(endpointId: string, count?: number, tenantId?: string, urgent?: boolean): Promise<string[]>;
  delivery(id: string): Promise<DeliveryLog>;
  /** Another dispatcher over the same store, as after a restart. */
  restart(): Dispatcher;
}

export interface HarnessOptions {
  network?: DispatcherNetwork;
  allow?: string[];
  /** Traces attempts; if omitted, none are traced. */
  tracer?: Tracer;
  /** The initial time of the clock, in Unix milliseconds. */
  startAt?: number;
  /** The store's file; in memory if omitted. */
  file?: string;
  /** Called for every stored outcome. */
  onOutcome?(outcome: Outcome): void;
  /** Called for every line of the dispatcher's log. */
  onLog?(line: object): void;
  /** Wraps the store, to inject failures or to observe it. */
  wrap?(store: Store): Store;
}

export const TENANT = 'ten_a';

/** Encrypts the secrets of its endpoints. */
export const HARNESS_BOX = createSecretBox(Buffer.alloc(32, 7), systemRandom);

export async function createHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { store: inner, clock } = await openTestStore({
    clock: createManualClock(options.startAt),
    file: options.file ?? ':memory:',
  });
  const random = { ...systemRandom, fraction: () => 0 };
  const newId = createIds(clock, random);
  const secretBox = HARNESS_BOX;
  const outcomes: Outcome[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const tenants = new Set<string>();

  const watched: Store = {
    ...inner,
    async recordOutcome(outcome) {
      const kept = await inner.recordOutcome(outcome);
      outcomes.push(outcome);
      options.onOutcome?.(outcome);
      // Runs after the dispatcher has processed it, because its own continuation runs first.
      setImmediate(() => {
        for (const waiter of waiting) if (outcomes.length >= waiter.count) waiter.resolve();
      });
      return kept;
    },
  };
  const store = options.wrap?.(watched) ?? watched;
  const onLog = (fields: object, message: string) => options.onLog?.({ ...fields, message });
  const open = () =>
    createDispatcher(
      {
        ...{ store, clock, random, newId, secretBox, localAddress: null },
        allowTargets: addresses(...(options.allow ?? ['127.0.0.0/8'])),
        log: { info: onLog, warn: onLog, error: onLog },
        tracer: options.tracer ?? null,
      },
      options.network,
    );

  async function ensureTenant(id: string): Promise<void> {
    if (tenants.has(id)) return;
    tenants.add(id);
    await inner.createTenant(aTenant(id));
  }

  return {
    store,
    clock,
    dispatcher: open(),
    outcomes,
    committed: (count) =>
      new Promise((resolve) => {
        if (outcomes.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    async endpoint(settings, tenantId = TENANT) {
      await ensureTenant(tenantId);
      const secret = generateSecret(random);
      const endpoint = anEndpoint(tenantId, { settings: webhookInputSchema.parse(settings) });
      endpoint.secretBox = secretBox.seal(secret, endpoint.id);
      await inner.createEndpoint(endpoint, null);
      return { id: endpoint.id, secret };
    },
    async enqueue(endpointId, count = 1, tenantId = TENANT, urgent = false) {
      const events = Array.from({ length: count }, () => ({
        ...aRoutedEvent(tenantId, [endpointId]),
        urgent,
      }));
      for (const { event } of events) event.createdAt = clock.now();
      await inner.commitSignals([aSignal(tenantId, { events })]);
      return events.flatMap((event) => event.deliveries.map((delivery) => delivery.id));
    },
    async delivery(id) {
      for (const tenantId of tenants) {
        const found = await inner.getDelivery(tenantId, id);
        if (found !== null) return found;
      }
      throw new Error(`no delivery ${id}`);
    },
    restart: open,
  };
}

/** A loopback port on which nothing listens. */
export const CLOSED_PORT = 1;

/** Runs `turns` turns of the event loop, including sockets. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
