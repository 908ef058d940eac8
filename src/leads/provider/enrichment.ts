import type { Clock } from '../../lib/clock.ts';
import { FACT_FIELDS, type FactField, type Lead } from '../../model/lead.ts';
import { personKeys } from '../../model/person-keys.ts';
import type { IntakeParts } from '../../signals/plan-posts.ts';
import { changeUntilItHolds } from '../../store/change-until-it-holds.ts';
import { routeChanges } from '../../webhooks/fan-out.ts';
import type { Enrichment } from '../changes.ts';
import { type LeadCaller, updateOf } from '../changes.ts';
import { conclude } from '../enrich.ts';
import { fillFacts, readFact } from '../facts.ts';
import { identityKeys } from '../person.ts';
import type { Provider, ProviderAnswer } from './provider.ts';
import type { Question } from './request.ts';

type EnrichmentParts = IntakeParts & {
  provider: Provider;
  log: { warn(fields: object, message: string): void };
};

export function createEnrichment(parts: EnrichmentParts): Enrichment {
  const { provider, clock, log } = parts;
  const following = new Set<Promise<void>>();

  function follow(caller: LeadCaller, leadId: string, asking: Promise<ProviderAnswer | null>): void {
    const work = asking
      .then((answer) => (answer === null ? undefined : addLate(parts, caller, { leadId, answer })))
      .catch((err: unknown) => log.warn({ err, lead_id: leadId }, 'late facts of a lead could not be stored'))
      .finally(() => following.delete(work));
    following.add(work);
  }

  return {
    patience(until) {
      let late: Promise<ProviderAnswer | null> | null = null;
      return {
        async enrich({ tenantId }, lead) {
          const question = questionOf(lead);
          if (question === null) return lead;
          const asking = provider.ask(question);
          const answer = await within(clock, asking, until - clock.monotonic());
          late = answer === 'late' ? asking : null;
          return answer === 'late' || answer === null ? lead : withAnswer(parts, tenantId, { lead, answer });
        },
        follow(caller, leadId) {
          if (late !== null) follow(caller, leadId, late);
        },
      };
    },
    forget: provider.forget,
    async close() {
      await provider.close();
      await Promise.all(following);
    },
  };
}

/**
 * What can be asked of a lead; null where nothing is missing, or nothing tells whom or what it is about. What the provider said
 * itself is left out: with it, each answer would make another question.
 */
function questionOf(lead: Lead): Question | null {
  if (FACT_FIELDS.every((field) => readFact(lead, field) !== '')) return null;
  const known = (field: FactField) =>
    lead.provenance[field]?.source === 'provider' ? '' : readFact(lead, field);
  const [email, name, linkedin_url] = [known('email'), known('name'), known('linkedin_url')];
  const domain = known('company.domain');
  if (email === '' && linkedin_url === '' && domain === '') return null;
  return {
    ...(email && { email }),
    ...(name && { name }),
    ...(linkedin_url && { linkedin_url }),
    ...(domain && { domain }),
  };
}

/**
 * Nothing that is filled is replaced; what follows from the new facts is concluded. A fact is as old as the answer. An address
 * or profile that another lead has is left out: it would be that lead's.
 */
async function withAnswer(
  { store, clock }: EnrichmentParts,
  tenantId: string,
  { lead, answer: { facts, at } }: { lead: Lead; answer: ProviderAnswer },
): Promise<Lead> {
  const filled = fillFacts(lead, facts, at);
  if (filled === lead) return lead;
  const holders = await store.findIdentities(tenantId, personKeys(filled));
  const isOthers = holders.some(({ leadId }) => leadId !== null && leadId !== lead.id);
  const own = isOthers ? facts.filter(({ field }) => field !== 'email' && field !== 'linkedin_url') : facts;
  return conclude(fillFacts(lead, own, at), clock.now());
}

/** A lead that is gone, as its person was erased, stays so. */
async function addLate(
  parts: EnrichmentParts,
  caller: LeadCaller,
  { leadId, answer }: { leadId: string; answer: ProviderAnswer },
): Promise<void> {
  const { store } = parts;
  const { tenantId } = caller;
  await changeUntilItHolds('lead', async () => {
    const stored = await store.getLead(tenantId, leadId);
    if (stored === null) return 'gone';
    const filled = await withAnswer(parts, tenantId, { lead: stored.lead, answer });
    if (filled === stored.lead) return 'same';
    const keys = identityKeys(filled);
    const seen = await store.findIdentities(tenantId, keys);
    const change = updateOf(parts, caller, { stored, lead: filled });
    const lead = { ...change.lead, enriched_at: change.lead.updated_at };
    const data = { lead_id: leadId, previous: stored.lead, current: lead };
    const events = await routeChanges(parts, tenantId, [{ type: 'lead.enriched', subjectId: leadId, data }]);
    return (await store.commitLead({ ...change, lead, keys, seen, events })) ? 'stored' : null;
  });
}

function within<T>(clock: Clock, work: Promise<T>, ms: number): Promise<T | 'late'> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(Math.max(0, ms), () => resolve('late'));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
