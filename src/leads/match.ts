import { DomainError } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import type { IdentityHolder, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';
import type { IncomingSignal } from './incoming.ts';
import { areDifferent, identityKeys, isStrong } from './person.ts';

/** The lead that a request is about, if there is one, and what was seen in finding that out. */
export interface Match {
  found: StoredLead | null;
  seen: IdentityHolder[];
}

/**
 * Finds the lead that has one of the person's identities or one of the signals. A name at a company is the person's own
 * only where address and profile do not say otherwise: there may be two of that name.
 * @throws DomainError `CONFLICT` where there are two, or where a signal is somebody else's
 */
export async function findMatch(
  store: Store,
  tenantId: string,
  { person, signals }: { person: Lead; signals: readonly IncomingSignal[] },
): Promise<Match> {
  const seen = await store.findIdentities(tenantId, identityKeys(person));
  const byKey = await readLeads(
    store,
    tenantId,
    seen.map(({ leadId }) => leadId),
  );
  const bySignal = await readLeads(
    store,
    tenantId,
    signals.map(({ leadId }) => leadId),
  );
  const own = seen.flatMap(({ key, leadId }) => {
    const held = leadId === null ? undefined : byKey.get(leadId);
    return held === undefined || (!isStrong(key) && areDifferent(person, held.lead)) ? [] : [held];
  });
  const matched = new Map([...own, ...bySignal.values()].map((stored) => [stored.lead.id, stored]));
  if (matched.size > 1) throw conflict('The request matches several leads', [...matched.keys()]);
  const found = [...matched.values()][0] ?? null;
  // Known by a signal alone, and the request says that it is somebody else.
  if (found !== null && own.length === 0 && areDifferent(person, found.lead)) {
    throw conflict('A signal of the request belongs to another lead', [found.lead.id]);
  }
  return { found, seen };
}

async function readLeads(
  store: Store,
  tenantId: string,
  ids: readonly (string | null)[],
): Promise<Map<string, StoredLead>> {
  const distinct = [...new Set(ids.filter((id) => id !== null))];
  const found = await Promise.all(distinct.map((id) => store.getLead(tenantId, id)));
  return new Map(found.filter((stored) => stored !== null).map((stored) => [stored.lead.id, stored]));
}

/** All are named, so that the caller can look at them and decide. */
export function conflict(what: string, leadIds: string[]): DomainError {
  return new DomainError('CONFLICT', `${what}: ${leadIds.join(', ')}.`, {
    hint: 'Look at the leads it names; delete one, or send only what identifies the one that is meant.',
    members: { lead_ids: leadIds },
  });
}
