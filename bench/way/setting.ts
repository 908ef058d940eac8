import { newKey } from '../../src/accounts/keys.ts';
import { createTenant } from '../../src/accounts/tenants.ts';
import { loadConfig } from '../../src/config.ts';
import { SCOPES } from '../../src/model/key.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { openRuntime } from '../../src/runtime.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { samplePost } from '../dispatch/setting.ts';

/** A sender: a tenant's key, and the endpoints to which each of its messages is sent. */
export interface Customer {
  apiKey: string;
  urls: readonly string[];
}

/** Creates a tenant for each list of endpoints, in a data folder that no server uses yet. */
export async function makeCustomers(
  env: NodeJS.ProcessEnv,
  lists: readonly (readonly string[])[],
): Promise<Customer[]> {
  const runtime = await openRuntime(loadConfig(env), { writerThread: true });
  const deps = { ...runtime, baseUrl: runtime.config.baseUrl };
  const customers: Customer[] = [];
  for (const [n, urls] of lists.entries()) {
    const email = `bench${n}@example.com`;
    const { tenant } = await createTenant(deps, { name: `Bench ${n}`, email, plan: 'enterprise' });
    const { key, apiKey } = newKey(deps, {
      ...{ tenantId: tenant.id, name: 'Bench', scopes: [...SCOPES] },
      rateLimit: 1_000_000,
    });
    await deps.store.createKey(key, 100);
    for (const url of urls) {
      await createEndpoint(deps, tenant, webhookInputSchema.parse({ url, rate_limit_per_minute: 1_000_000 }));
    }
    customers.push({ apiKey, urls });
  }
  await runtime.close();
  return customers;
}

/** The body of a message; `number` is part of the delivery. */
export function messageBody(number: number): string {
  const { text, url } = samplePost(number);
  return JSON.stringify({ text, platform: { name: 'forum', post_url: url } });
}

/** Milliseconds by a clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
