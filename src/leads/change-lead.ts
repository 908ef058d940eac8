import { invalidAt } from '../model/errors.ts';
import type { FactField, Lead, LeadPatch } from '../model/lead.ts';
import { attachSignals } from '../model/lead-score.ts';
import { personKeys } from '../model/person-keys.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { LeadChange, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';
import { type LeadCaller, requireLead, updateOf, versionOf } from './changes.ts';
import { concludeAgain } from './enrich.ts';
import {
  boundCustomFields,
  boundTags,
  type Facts,
  identityKeys,
  isStrong,
  readFact,
  setFact,
  statedFacts,
  uniteTags,
} from './facts.ts';
import { conflict, readFreeSignals } from './incoming.ts';

/**
 * Changes facts about a lead; facts derived from a changed name or title are derived again. A new email address or profile also
 * attaches the person's signals.
 * @throws DomainError `NOT_FOUND`, `CONFLICT` if another lead has the new address or profile, `INVALID_REQUEST`
 */
export async function changeLead(
  deps: IntakeDeps,
  caller: LeadCaller,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: LeadPatch; when?: Precondition },
): Promise<StoredLead> {
  const { store, clock } = deps;
  const { tenantId } = caller;
  return changeUntilItHolds('lead', async () => {
    const stored = await requireLead(store, tenantId, id);
    when(versionOf(stored));
    // An owner who has left the team stays until another one is set.
    if (patch.owner && patch.owner !== stored.lead.owner) await requireMember(store, tenantId, patch.owner);
    const patched = applyPatch(stored.lead, patch, clock.now());
    if (JSON.stringify(patched) === JSON.stringify(stored.lead)) return stored;
    const keys = identityKeys(patched);
    const seen = await requireFree(store, tenantId, { id, keys });
    const free = await readFreeSignals(store, tenantId, personKeys(patched));
    const lead = attachSignals(
      patched,
      free.map(({ signal }) => signal),
    );
    const attach = free.map((signal) => signal.id);
    const change = { ...updateOf(deps, caller, { stored, lead }), seen, keys, attach };
    return (await store.commitLead(change)) ? { lead: change.lead, version: stored.version + 1 } : null;
  });
}

/** Applies a patch to the lead (RFC 7396: null clears a member, absent members stay). */
function applyPatch(lead: Lead, patch: LeadPatch, at: number): Lead {
  const stated = statedFacts(patch);
  const changed = new Set<FactField>();
  let patched = lead;
  for (const [field, value] of Object.entries(stated) as [keyof Facts & FactField, string][]) {
    if (readFact(patched, field) === value) continue;
    changed.add(field);
    patched = setFact(patched, { field, value, source: 'request', confidence: 1 }, at);
  }
  patched = concludeAgain(patched, changed, at);
  return {
    ...patched,
    source: patch.source === undefined ? lead.source : (patch.source ?? ''),
    tags: patch.tags === undefined ? lead.tags : boundTags(uniteTags(patch.tags ?? [], [])),
    custom_fields: patchCustomFields(lead.custom_fields, patch.custom_fields),
    owner: patch.owner === undefined ? lead.owner : (patch.owner ?? ''),
    notes: patch.notes === undefined ? lead.notes : (patch.notes ?? ''),
    next_step: patch.next_step === undefined ? lead.next_step : patch.next_step,
  };
}

function patchCustomFields(
  fields: Lead['custom_fields'],
  patch: LeadPatch['custom_fields'],
): Lead['custom_fields'] {
  if (patch === undefined) return fields;
  if (patch === null) return {};
  const patched = { ...fields };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete patched[name];
    else patched[name] = value;
  }
  return boundCustomFields(patched);
}

/** @throws DomainError `INVALID_REQUEST` if no member of the team has the address */
async function requireMember(store: Store, tenantId: string, email: string): Promise<void> {
  const members = await store.listMembers(tenantId);
  if (members.some((member) => member.email.toLowerCase() === email)) return;
  throw invalidAt('/owner', `"${email}" is not the address of a member of your team.`);
}

/** The owners of the keys; strong ones may not belong to another lead. A name at a company stays with the first lead that had it. */
async function requireFree(
  store: Store,
  tenantId: string,
  { id, keys }: { id: string; keys: string[] },
): Promise<LeadChange['seen']> {
  const seen = await store.findIdentities(tenantId, keys);
  const others = seen.flatMap(({ key, leadId }) =>
    leadId !== null && leadId !== id && isStrong(key) ? [leadId] : [],
  );
  if (others.length > 0) throw conflict('Another lead has that address or profile', [...new Set(others)]);
  return seen;
}
