import { excerpt } from '../lib/text.ts';
import type { Lead } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';
import { headlineOf } from '../signals/why.ts';
import type { LeadStore } from '../store/lead-store.ts';

type SignalsOfLeads = Pick<LeadStore, 'listSignalsOfLead'>;

const MAX_NAME = 90;
const UNNAMED = 'Unnamed lead';

/** What a lead is called: by name, address or company, else by the headline of its best post. Never by its id. */
export function nameOf({ name, email, company }: Lead, headline = ''): string {
  return name || email || company.name || excerpt(headline, MAX_NAME) || UNNAMED;
}

/** The headlines of the leads' best posts, by the leads' ids. One that has no post, or an erased one, is left out. */
export async function headlinesOf(
  store: SignalsOfLeads,
  leads: readonly Lead[],
): Promise<Map<string, string>> {
  const found = await Promise.all(
    leads.map(async ({ id, signal_count }) => {
      const [best] = signal_count === 0 ? [] : await store.listSignalsOfLead(id, 1);
      const text = best === undefined ? '' : (JSON.parse(best) as Signal).excerpt;
      return [id, text] as const;
    }),
  );
  return new Map(found.flatMap(([id, text]) => (text === '' ? [] : [[id, headlineOf(text)]])));
}

/** What each of the leads is called. */
export async function namesOf(
  store: SignalsOfLeads,
  leads: readonly Lead[],
): Promise<(lead: Lead) => string> {
  const headlines = await headlinesOf(
    store,
    leads.filter((lead) => nameOf(lead) === UNNAMED),
  );
  return (lead) => nameOf(lead, headlines.get(lead.id));
}
