import type { Caller } from '../http/request-context.ts';
import type { LeadCaller } from '../leads/changes.ts';
import { type Lead, SHOWN_SIGNALS } from '../model/lead.ts';
import type { Store } from '../store/store.ts';

/** Who changes a lead: the key, as the history names it. */
export function leadCallerOf({ tenant, key }: Caller): LeadCaller {
  return { tenantId: tenant.id, actor: { id: key.id, name: key.name } };
}

/** The answer of a lead with its best signals, put together of stored JSON. */
export async function leadText(store: Store, lead: Lead): Promise<string> {
  const signals = lead.signal_count === 0 ? [] : await store.listSignalsOfLead(lead.id, SHOWN_SIGNALS);
  return `{"data":${JSON.stringify(lead).slice(0, -1)},"signals":[${signals.join(',')}]}}`;
}
