import { createTenant } from '../../src/accounts/tenants.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import type { Tenant } from '../../src/model/tenant.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { openStore } from '../../src/store/driver.ts';
import type { Store } from '../../src/store/store.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { createLookup } from '../../src/webhooks/target-lookup.ts';
import { type Round, samplePost } from './setting.ts';

/** The location of a store: a file, or a PostgreSQL database. */
export type Place = { file: string } | { url: string };

/** The same key for all users of one store. */
const SECRET = Buffer.alloc(32, 7);

/** A store, with its writer thread if it is a file, and the dispatcher's other dependencies. */
export async function openParts(place: Place) {
  const clock = systemClock;
  const random = systemRandom;
  const loopback = parseCidr('127.0.0.0/8');
  const store = await openStore({
    ...('file' in place ? { ...place, databaseUrl: null } : { file: '', databaseUrl: place.url }),
    ...{ clock, writerThread: true },
  });
  return {
    clock,
    random,
    newId: createIds(clock, random),
    store,
    matchers: createMatchers(store),
    secretBox: createSecretBox(SECRET, random),
    allowTargets: createAddressSet(loopback ? [loopback] : []),
    lookup: createLookup(clock),
    baseUrl: 'http://localhost:3000',
  };
}

/** See {@link openParts}. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** A tenant with an endpoint for each URL. */
export async function makeTenant(deps: Parts, { urls }: Pick<Round, 'urls'>): Promise<Tenant> {
  const { tenant } = await createTenant(deps, {
    name: 'Bench',
    email: 'bench@example.com',
    plan: 'enterprise',
  });
  for (const url of urls) {
    await createEndpoint(deps, tenant, webhookInputSchema.parse({ url, rate_limit_per_minute: 1_000_000 }));
  }
  return tenant;
}

/** Stores `deliveries / endpoints` posts, each of which is delivered to every endpoint. Returns the lanes. */
export async function queueUp(
  deps: Parts,
  tenant: Tenant,
  endpoints: number,
  part: { from: number; deliveries: number },
) {
  const posts = Array.from({ length: part.deliveries / endpoints }, (_, n) => {
    const { text, url } = samplePost(part.from + n);
    return { platform: { name: 'forum', post_url: url }, text };
  });
  for (let i = 0; i < posts.length; i += 100) await observePosts(deps, tenant.id, posts.slice(i, i + 100));
  return (await deps.store.listEndpoints(tenant.id)).map(({ id }) => ({
    endpointId: id,
    tenantId: tenant.id,
  }));
}

/** The store, with a count of successful outcomes and the durations of their attempts. */
export function countOutcomes(store: Store, onOutcome = () => {}) {
  const durations: number[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let count = 0;
  let resolve = () => {};
  let hidden = false;
  return {
    durations,
    /** From now on, the dispatcher finds lanes only if it is notified of them. */
    hide() {
      hidden = true;
    },
    after(deliveries: number): Promise<void> {
      wanted = deliveries;
      count = 0;
      return new Promise((done) => {
        resolve = done;
      });
    },
    store: {
      ...store,
      listDueLanes: async () => (hidden ? [] : store.listDueLanes()),
      async recordOutcome(outcome) {
        const applied = await store.recordOutcome(outcome);
        if (outcome.next.status !== 'delivered')
          throw new Error(`a delivery failed: ${outcome.attempt.error?.message}`);
        durations.push(outcome.attempt.durationMs);
        onOutcome();
        if (++count === wanted) resolve();
        return applied;
      },
    } satisfies Store,
  };
}

/** Prints only warnings and errors. */
export function quietLog() {
  return { info: () => {}, warn: console.error, error: console.error };
}
