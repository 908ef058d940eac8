import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { smallestOf } from '../lib/lists.ts';
import { normaliseDomain } from '../lib/network.ts';
import {
  type Company,
  type CompanyContact,
  type CompanyInput,
  type CompanyResource,
  MAX_CONTACTS,
  MAX_TOP_SIGNALS,
} from '../model/company.ts';
import { COMPANY_FACTS, type CompanyFact, factInForce, NO_FACTS, setFacts } from '../model/company-facts.ts';
import { DomainError } from '../model/errors.ts';
import { changeUntilItHolds } from '../store/change-until-it-holds.ts';
import type { CompanyActivity, CompanyStore } from '../store/company-store.ts';

export interface CompanyDeps {
  store: CompanyStore;
  clock: Clock;
  newId: NewId;
}

/** The windows of `signal_counts`; the longest one is also used for the top signals. */
const ACTIVITY_DAYS = [7, 30, 90] as const;

/** The start of each window. */
function activitySince(now: number): number[] {
  return ACTIVITY_DAYS.map((days) => now - days * DAY_MS);
}

/** The id or domain of a company in a path, in any spelling; null if it is neither. */
function companyKey(text: string): { id: string } | { domain: string } | null {
  // Domains have no underscores.
  if (text.includes('_')) return { id: text };
  const domain = normaliseDomain(text);
  return domain === null ? null : { domain };
}

/** The tenant's company. @throws DomainError `NOT_FOUND` */
export async function getCompany(store: CompanyStore, tenantId: string, named: string): Promise<Company> {
  const key = companyKey(named);
  const company = key === null ? null : await store.findCompany(tenantId, key);
  if (company === null) throw new DomainError('NOT_FOUND', `There is no company "${named}".`);
  return company;
}

/** Sets a caller's facts about a company, and creates it if it is unknown. @throws DomainError */
export async function putCompany(
  deps: CompanyDeps,
  tenantId: string,
  { named, input }: { named: string; input: CompanyInput },
): Promise<{ company: Company; created: boolean }> {
  const key = companyKey(named);
  if (key === null) throw notADomain(named);
  return changeUntilItHolds('company', async () => {
    const now = deps.clock.now();
    const current = await deps.store.findCompany(tenantId, key);
    if (current === null && 'id' in key)
      throw new DomainError('NOT_FOUND', `There is no company "${named}".`);
    const before = current ?? newCompany(deps, tenantId, 'domain' in key ? key.domain : '');
    const facts = setFacts(before.facts, input, now);
    if (current !== null && facts === current.facts) return { company: current, created: false };
    const company = { ...before, facts, updatedAt: now, version: before.version + 1 };
    const isStored = await deps.store.saveCompany(company, before.version);
    return isStored ? { company, created: current === null } : null;
  });
}

/** Companies as every API shows them, with their current signal counts. */
export async function companyResources(
  { store, clock }: Pick<CompanyDeps, 'store' | 'clock'>,
  tenantId: string,
  companies: readonly Company[],
): Promise<CompanyResource[]> {
  const domains = companies.map(({ domain }) => domain);
  const activities = await store.readCompanyActivity(tenantId, domains, activitySince(clock.now()));
  return companies.map((company, index) => toResource(company, activities[index]));
}

/** A company with the best signals of the longest window, as wire JSON texts, and the people known there. */
export async function readCompanyDetail(
  { store, clock }: Pick<CompanyDeps, 'store' | 'clock'>,
  tenantId: string,
  company: Company,
): Promise<{ resource: CompanyResource; signals: string[]; contacts: CompanyContact[] }> {
  const since = smallestOf(activitySince(clock.now()));
  const [[resource], signals, contacts] = await Promise.all([
    companyResources({ store, clock }, tenantId, [company]),
    store.listTopSignals(tenantId, company.domain, { since, limit: MAX_TOP_SIGNALS }),
    store.listCompanyContacts(tenantId, company.domain, MAX_CONTACTS),
  ]);
  if (resource === undefined) throw new Error('a company has no resource');
  return { resource, signals, contacts };
}

function newCompany({ clock, newId }: CompanyDeps, tenantId: string, domain: string): Company {
  const now = clock.now();
  return { id: newId('cmp'), tenantId, domain, facts: NO_FACTS, createdAt: now, updatedAt: now, version: 0 };
}

function toResource(
  company: Company,
  activity: CompanyActivity = { counts: [], lastAt: null },
): CompanyResource {
  const known = COMPANY_FACTS.flatMap((field) => {
    const origin = factInForce(company.facts, field);
    return origin === null ? [] : [{ field, origin }];
  });
  const values: Record<CompanyFact, string> = {
    name: '',
    industry: '',
    headcount: '',
    location: '',
    description: '',
    linkedin_url: '',
  };
  for (const { field, origin } of known) values[field] = origin.value;
  const [week = 0, month = 0, quarter = 0] = activity.counts;
  return {
    id: company.id,
    domain: company.domain,
    ...values,
    sources: Object.fromEntries(
      known.map(({ field, origin: { source, signalId, at } }) => [
        field,
        { source, signal_id: signalId, at: toIso(at) },
      ]),
    ),
    signal_counts: { last_7_days: week, last_30_days: month, last_90_days: quarter },
    last_signal_at: activity.lastAt === null ? null : toIso(activity.lastAt),
    created_at: toIso(company.createdAt),
    updated_at: toIso(company.updatedAt),
  };
}

function notADomain(named: string): DomainError {
  const detail = `"${named}" is neither a company's id nor a domain such as "example.com".`;
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ parameter: 'company', detail }] });
}
