import { nameOf } from '../leads/lead-names.ts';
import type { Lead } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';
import { headlineOf } from '../signals/why.ts';
import type { Store } from '../store/store.ts';

/** What an event is about, as a person knows it. */
export interface Subject {
  label: string;
  path: string;
}

/** The subjects of a page of deliveries or events by their ids: signals, leads and campaigns that still are there. */
export async function subjectsOf(
  store: Store,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, Subject>> {
  const beginning = (prefix: string) => [...new Set(ids)].filter((id) => id.startsWith(prefix));
  const [signals, leads, campaigns] = await Promise.all([
    store.findLeadSignals(tenantId, beginning('sig_')),
    Promise.all(beginning('led_').map((id) => store.getLead(tenantId, id))),
    Promise.all(beginning('cam_').map((id) => store.getCampaign(tenantId, id))),
  ]);
  const subjects = new Map<string, Subject>();
  for (const { id, wire } of signals) {
    const { excerpt } = JSON.parse(wire) as Signal;
    subjects.set(id, {
      label: excerpt === '' ? 'Erased post' : headlineOf(excerpt),
      path: `/dashboard/signals/${id}`,
    });
  }
  for (const stored of leads) {
    if (stored !== null) subjects.set(stored.lead.id, leadSubject(stored.lead));
  }
  for (const campaign of campaigns) {
    if (campaign !== null)
      subjects.set(campaign.id, { label: campaign.name, path: `/dashboard/campaigns/${campaign.id}` });
  }
  return subjects;
}

function leadSubject(lead: Lead): Subject {
  return { label: nameOf(lead), path: `/dashboard/leads/${lead.id}` };
}
