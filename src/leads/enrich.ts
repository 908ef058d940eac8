import { normaliseDomain } from '../lib/domain.ts';
import type { Company } from '../model/company.ts';
import { factInForce } from '../model/company-facts.ts';
import type { FactField, Lead } from '../model/lead.ts';
import { departmentOf, seniorityOf } from '../rules/job-title.ts';
import { clearFact, type Fact, fillFacts, vouchFor } from './facts.ts';
import { readMailbox } from './mailbox.ts';
import { splitName } from './names.ts';

/** How sure a conclusion is; what a caller states is 1, what a post shows of its author 0.9. */
const CONFIDENCE = {
  domainOfEmail: 0.9,
  nameOfEmail: 0.6,
  splitName: 0.9,
  seniority: 0.8,
  department: 0.7,
  companySetByHand: 0.95,
  companySeenInPosts: 0.8,
} as const;

const COMPANY_FIELDS = ['name', 'industry', 'headcount', 'location'] as const;

/** What is concluded from which fact. */
const FOLLOWS: readonly ['name' | 'title', readonly FactField[]][] = [
  ['name', ['first_name', 'last_name']],
  ['title', ['seniority', 'department']],
];

/** What follows from the lead's own facts, without asking anyone; nothing that it knows already is replaced. */
export function conclude(lead: Lead, at: number): Lead {
  const named = fillFacts(lead, [...factsOfEmail(lead), ...partsOfName(lead)], at);
  return fillFacts(named, factsOfTitle(named.title), at);
}

/** The lead with what followed from its name or title concluded anew, where one of these has changed. */
export function concludeAgain(lead: Lead, changed: ReadonlySet<FactField>, at: number): Lead {
  let fresh = lead;
  for (const [of, fields] of FOLLOWS) {
    if (!changed.has(of)) continue;
    for (const field of fields) {
      const source = fresh.provenance[field]?.source;
      if (!changed.has(field) && (source === of || source === 'email')) fresh = clearFact(fresh, field);
    }
  }
  if (changed.has('name')) fresh = fillFacts(fresh, partsOfName(fresh), at);
  return changed.has('title') ? fillFacts(fresh, factsOfTitle(fresh.title), at) : fresh;
}

/** What the tenant knows of the lead's company from elsewhere. */
export function companyFacts({ facts }: Company): Fact[] {
  return COMPANY_FIELDS.flatMap((field): Fact[] => {
    const known = factInForce(facts, field);
    if (known === null) return [];
    const sure = known.source === 'manual' ? CONFIDENCE.companySetByHand : CONFIDENCE.companySeenInPosts;
    return [{ field: `company.${field}`, value: known.value, source: 'company', confidence: sure }];
  });
}

function factsOfEmail({ email, name }: Lead): Fact[] {
  const mailbox = readMailbox(email);
  if (mailbox === null) return [];
  const domain = mailbox.isFree ? null : normaliseDomain(mailbox.domain);
  const facts =
    domain === null ? [] : vouchFor({ 'company.domain': domain }, 'email', CONFIDENCE.domainOfEmail);
  if (mailbox.name === null || name !== '') return facts;
  const { first, last } = mailbox.name;
  const names = { name: `${first} ${last}`, first_name: first, last_name: last };
  return [...facts, ...vouchFor(names, 'email', CONFIDENCE.nameOfEmail)];
}

/** Half a name that is known stays alone: the other half could be of another spelling. */
function partsOfName({ name, first_name, last_name }: Lead): Fact[] {
  if (first_name !== '' || last_name !== '') return [];
  const parts = splitName(name);
  if (parts === null) return [];
  return vouchFor({ first_name: parts.first, last_name: parts.last }, 'name', CONFIDENCE.splitName);
}

function factsOfTitle(title: string): Fact[] {
  return [
    ...vouchFor({ seniority: seniorityOf(title) }, 'title', CONFIDENCE.seniority),
    ...vouchFor({ department: departmentOf(title) }, 'title', CONFIDENCE.department),
  ];
}
