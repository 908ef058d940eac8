import { excerpt } from '../lib/text.ts';
import { eachInTurns } from '../lib/yielding.ts';
import type { Lead } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';
import { headlineOf } from '../signals/why.ts';
import type { LeadStore } from '../store/lead-store.ts';

type SignalsOfLeads = Pick<LeadStore, 'listSignalsOfLead'>;

const MAX_NAME = 90;
const UNNAMED = 'Unnamed lead';

/** The display name of a lead: name, address or company, otherwise the headline of its best post; never its id. */
export function nameOf({ name, email, company }: Lead, headline = ''): string {
  return name || email || company.name || excerpt(headline, MAX_NAME) || UNNAMED;
}

/** The headlines of the leads' best posts, by lead id. Leads without a post, or with an erased one, are omitted. */
export async function headlinesOf(
  store: SignalsOfLeads,
  leads: readonly Lead[],
): Promise<Map<string, string>> {
  const found = await eachInTurns(leads, async ({ id, signal_count }) => {
    const [best] = signal_count === 0 ? [] : await store.listSignalsOfLead(id, 1);
    const text = best === undefined ? '' : (JSON.parse(best) as Signal).excerpt;
    return [id, text] as const;
  });
  return new Map(found.flatMap(([id, text]) => (text === '' ? [] : [[id, headlineOf(text)]])));
}

/** The display name of each lead. */
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
