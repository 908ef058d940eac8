import { toIso } from '../lib/clock.ts';
import { invalidAt } from '../model/errors.ts';
import {
  FACT_FIELDS,
  type FactField,
  type FactSource,
  type Lead,
  type LeadInput,
  type LeadPatch,
  MAX_CUSTOM_FIELDS,
  MAX_TAGS,
} from '../model/lead.ts';
import { linkedinProfile, nameKey, normaliseEmail, personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';

/** Facts by field; absent or empty means unknown. */
export type Facts = Partial<Record<FactField, string>>;

/** A fact with its origin, to be added to a lead. */
export interface Fact {
  field: FactField;
  value: string;
  source: FactSource;
  /** 0 to 1. */
  confidence: number;
}

/** Facts stated in a request; `undefined` means not stated, and an empty value clears the field if the request is a change. */
export function statedFacts({ company, ...person }: LeadInput | LeadPatch): Facts {
  const facts: Facts = {};
  for (const field of FACT_FIELDS) {
    const stated = field.startsWith('company.')
      ? company?.[field.slice('company.'.length) as keyof typeof company]
      : person[field as keyof typeof person];
    if (stated !== undefined) facts[field] = stated === null ? '' : String(stated);
    else if (company === null && field.startsWith('company.')) facts[field] = '';
  }
  return facts;
}

/** Facts with the confidence of their origin; empty ones are omitted. */
export function vouchFor(facts: Facts, source: FactSource, confidence: number): Fact[] {
  return FACT_FIELDS.flatMap((field) => {
    const value = facts[field] ?? '';
    return value === '' ? [] : [{ field, value, source, confidence }];
  });
}

/**
 * The lead with all facts that were unknown; known ones stay, and of two facts for one field the first wins. Returns the same
 * object if nothing was new.
 */
export function fillFacts(lead: Lead, incoming: readonly Fact[], at: number): Lead {
  let filled = lead;
  for (const fact of incoming) {
    if (fact.value !== '' && readFact(filled, fact.field) === '') filled = setFact(filled, fact, at);
  }
  return filled;
}

/** The lead without that fact and its provenance. */
export function clearFact(lead: Lead, field: FactField): Lead {
  return setFact(lead, { field, value: '', source: 'request', confidence: 1 }, 0);
}

/** The lead with `fact` in place of whatever it had; an empty value clears the field and its provenance. */
export function setFact(lead: Lead, { field, value, source, confidence }: Fact, at: number): Lead {
  const { [field]: _, ...provenance } = lead.provenance;
  const known = value === '' ? provenance : { ...provenance, [field]: { source, confidence, at: toIso(at) } };
  const text = field === 'email' ? normaliseEmail(value) : value;
  if (!field.startsWith('company.')) return { ...lead, [field]: text, provenance: known };
  const company = { ...lead.company, [field.slice('company.'.length)]: text };
  return { ...lead, company, provenance: known };
}

/** A lead's fact by its field's name. */
export function readFact(lead: Lead, field: FactField): string {
  switch (field) {
    case 'company.name':
      return lead.company.name;
    case 'company.domain':
      return lead.company.domain;
    case 'company.industry':
      return lead.company.industry;
    case 'company.headcount':
      return lead.company.headcount;
    case 'company.location':
      return lead.company.location;
    default:
      return lead[field];
  }
}

/** Facts about a lead, known or new, in a request. */
export interface Incoming {
  source: string;
  facts: readonly Fact[];
  tags: readonly string[];
  customFields: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * The lead with unknown facts filled in. Known values are never overwritten: facts, source and existing custom fields
 * stay, and tags are combined. Merging the same input again changes nothing.
 * @throws DomainError `INVALID_REQUEST` if the lead would have too many tags or custom fields
 */
export function mergeInto(lead: Lead, { source, facts, tags, customFields }: Incoming, at: number): Lead {
  const filled = fillFacts(lead, facts, at);
  return {
    ...filled,
    source: lead.source === '' ? source : lead.source,
    tags: boundTags(uniteTags(lead.tags, tags)),
    custom_fields: boundCustomFields({ ...withoutNull(customFields), ...lead.custom_fields }),
  };
}

/** The tags of both, each in its first spelling; case is ignored. */
export function uniteTags(first: readonly string[], second: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const tag of [...first, ...second]) {
    if (!byKey.has(tag.toLowerCase())) byKey.set(tag.toLowerCase(), tag);
  }
  return [...byKey.values()];
}

/** @throws DomainError `INVALID_REQUEST` */
export function boundTags(tags: string[]): string[] {
  if (tags.length <= MAX_TAGS) return tags;
  throw invalidAt('/tags', `A lead has at most ${MAX_TAGS} tags; with these it would have ${tags.length}.`);
}

/** @throws DomainError `INVALID_REQUEST` */
export function boundCustomFields(fields: Lead['custom_fields']): Lead['custom_fields'] {
  const count = Object.keys(fields).length;
  if (count <= MAX_CUSTOM_FIELDS) return fields;
  const detail = `A lead has at most ${MAX_CUSTOM_FIELDS} custom fields; with these it would have ${count}.`;
  throw invalidAt('/custom_fields', detail);
}

function withoutNull(fields: Incoming['customFields']): Lead['custom_fields'] {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string | number | boolean] => entry[1] !== null),
  );
}

/** The confidence that a post's author is the person stated by the platform. */
const SIGNAL_CONFIDENCE = 0.9;

/** A lead without any facts. */
export function blankLead(id: string, now: number): Lead {
  const at = toIso(now);
  return {
    id,
    name: '',
    first_name: '',
    last_name: '',
    email: '',
    linkedin_url: '',
    title: '',
    seniority: '',
    department: '',
    company: { name: '', domain: '', industry: '', headcount: '', location: '' },
    source: '',
    stage: 'new',
    stage_changed_at: at,
    icp_score: null,
    classification: null,
    signal_count: 0,
    last_signal_at: null,
    tags: [],
    custom_fields: {},
    deal: null,
    owner: '',
    notes: '',
    next_step: null,
    provenance: {},
    enriched_at: null,
    created_at: at,
    updated_at: at,
  };
}

/** All keys that identify the lead. A name derived from an address is a guess, and no identity. */
export function identityKeys(lead: Lead): string[] {
  const guessed = lead.provenance.name?.source === 'email';
  const named = guessed ? null : nameKey(lead.name, lead.company.domain);
  return [...personKeys(lead), ...(named === null ? [] : [named])];
}

/** Whether a key is unique to one person; two people may have the same name at a company. */
export function isStrong(key: string): boolean {
  return !key.startsWith('name:');
}

/** Whether the facts contradict each other: a different address or profile. */
export function areDifferent(
  one: Pick<Lead, 'email' | 'linkedin_url'>,
  other: Pick<Lead, 'email' | 'linkedin_url'>,
): boolean {
  const emails = [normaliseEmail(one.email), normaliseEmail(other.email)];
  if (emails[0] !== emails[1] && !emails.includes('')) return true;
  const profiles = [linkedinProfile(one.linkedin_url), linkedinProfile(other.linkedin_url)];
  return profiles[0] !== profiles[1] && !profiles.includes(null);
}

/** Facts about a signal's author and the author's company. */
export function factsOfSignal({ prospect, company }: Signal): Fact[] {
  return vouchFor(
    {
      name: prospect.name,
      email: normaliseEmail(prospect.email),
      // Anything but a member's profile would be wrong in this field.
      linkedin_url: linkedinProfile(prospect.linkedin_url) === null ? '' : prospect.linkedin_url,
      title: prospect.title,
      'company.name': company.name,
      'company.domain': company.domain,
      'company.industry': company.industry,
      'company.headcount': company.headcount,
      'company.location': company.location,
    },
    'signal',
    SIGNAL_CONFIDENCE,
  );
}
