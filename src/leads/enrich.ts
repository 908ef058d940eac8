import providers from 'email-providers/all.json' with { type: 'json' };
import { normaliseDomain } from '../lib/network.ts';
import type { Company } from '../model/company.ts';
import { factInForce } from '../model/company-facts.ts';
import type { FactField, Lead } from '../model/lead.ts';
import { departmentOf, seniorityOf } from '../rules/job-title.ts';
import { clearFact, type Fact, fillFacts, vouchFor } from './facts.ts';

/** First and last name of a full one. */
export interface SplitName {
  first: string;
  last: string;
}

const TITLES = /^(?:dr|prof|mr|mrs|ms|mx|miss|sir|herr|frau|ing|dipl|mag)\.?$/i;
const SUFFIXES = /^(?:jr|sr|ii|iii|iv|ph\.?d|md|mba|cpa|esq|msc|bsc|pe|cissp|pmp)\.?$/i;
/** Names of people, not of accounts: `plumber_42` and `u/hvac` have no first name. */
const PERSONAL = /^[\p{L}\p{M}][\p{L}\p{M}'’.,\- ]*$/u;

/** Splits a full name: "Dr. Jane van Dyk, PhD" is Jane, van Dyk. Null if it does not have two parts. */
export function splitName(name: string): SplitName | null {
  if (!PERSONAL.test(name.trim())) return null;
  const words = inReadingOrder(name).filter((word) => word !== '');
  while (words[0] !== undefined && TITLES.test(words[0])) words.shift();
  while (words.length > 2 && SUFFIXES.test(words.at(-1) ?? '')) words.pop();
  const [first = '', ...rest] = words;
  return rest.length === 0 ? null : { first, last: rest.join(' ') };
}

/** "Doe, Jane" is Jane Doe; "Jane Doe, PhD" is not PhD Jane Doe. */
function inReadingOrder(name: string): string[] {
  const [head = '', ...tail] = name.split(',').map((part) => part.trim().split(/\s+/));
  const after = tail.flat().filter((word) => word !== '');
  const isSuffix = after.length > 0 && after.every((word) => SUFFIXES.test(word));
  if (after.length === 0 || isSuffix) return [...head, ...after];
  return [...after, ...head];
}

/** Providers missing from the list. */
const MORE_PROVIDERS = [
  'fastmail.com',
  'tutanota.com',
  'tuta.io',
  'duck.com',
  'hushmail.com',
  'zohomail.com',
];
/** Reserved for documentation by RFC 2606: not free mail, although the list contains them. */
const RESERVED = ['example.com', 'example.net', 'example.org', 'test.com'];

const FREE_MAIL: ReadonlySet<string> = new Set(
  [...providers, ...MORE_PROVIDERS].filter((domain) => !RESERVED.includes(domain)),
);

const ROLES: ReadonlySet<string> = new Set(
  (
    'info sales support contact hello hi hey admin administrator office team help helpdesk billing accounts accounting ' +
    'invoices finance hr jobs careers recruiting marketing press media news newsletter noreply no-reply donotreply ' +
    'webmaster postmaster hostmaster abuse enquiries enquiry inquiries inquiry service services customerservice ' +
    'customercare care mail email post booking bookings reservations reception orders order shop store quotes estimates ' +
    'dispatch privacy security legal compliance partners feedback events kontakt buero vertrieb bewerbung contacto ventas ' +
    'accueil commercial'
  ).split(' '),
);

/** A parsed email address. */
export interface Mailbox {
  domain: string;
  /** A provider such as Gmail, which says nothing about a company. */
  isFree: boolean;
  /** `info@`, `sales@`: a role, not a person. */
  isRole: boolean;
  /** First and last name if the address has the form `first.last`; otherwise null. */
  name: { first: string; last: string } | null;
}

/** What an email address reveals about its owner; null if it is invalid. */
export function readMailbox(email: string): Mailbox | null {
  const at = email.lastIndexOf('@');
  if (at < 1) return null;
  const domain = email.slice(at + 1).toLowerCase();
  const local = (email.slice(0, at).toLowerCase().split('+')[0] ?? '').replace(/\d+$/, '');
  const isRole = ROLES.has(local) || ROLES.has(local.split(/[._-]/)[0] ?? '');
  return { domain, isFree: FREE_MAIL.has(domain), isRole, name: isRole ? null : nameIn(local) };
}

function nameIn(local: string): Mailbox['name'] {
  const parts = /^(\p{L}{2,})[._](\p{L}+(?:-\p{L}+)*)$/u.exec(local);
  const [, first = '', last = ''] = parts ?? [];
  return last.length < 2 ? null : { first: capitalise(first), last: capitalise(last) };
}

function capitalise(name: string): string {
  return name.replace(/(^|-)(\p{L})/gu, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}

/** Confidence of derived facts; facts stated by a caller have 1, facts about the author of a post 0.9. */
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

/** Which facts are derived from which. */
const FOLLOWS: readonly ['name' | 'title', readonly FactField[]][] = [
  ['name', ['first_name', 'last_name']],
  ['title', ['seniority', 'department']],
];

/** Facts derived from the lead's own facts, without a provider; known ones are not replaced. */
export function conclude(lead: Lead, at: number): Lead {
  const named = fillFacts(lead, [...factsOfEmail(lead), ...partsOfName(lead)], at);
  return fillFacts(named, factsOfTitle(named.title), at);
}

/** The lead with facts derived again from its name or title, if one of these has changed. */
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

/** Facts about the lead's company from other sources of the tenant. */
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

/** If only half of a name is known, the other half is not added: its spelling could differ. */
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
