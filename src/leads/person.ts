import { toIso } from '../lib/clock.ts';
import type { Lead } from '../model/lead.ts';
import { linkedinProfile, nameKey, normaliseEmail, personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';
import { type Fact, vouchFor } from './facts.ts';

/** How sure it is that a post's author is who the platform says. */
const SIGNAL_CONFIDENCE = 0.9;

/** A lead of whom nothing is known. */
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

/** Everything the lead is known again by. A name that was only read out of an address is a guess, and no identity. */
export function identityKeys(lead: Lead): string[] {
  const guessed = lead.provenance.name?.source === 'email';
  const named = guessed ? null : nameKey(lead.name, lead.company.domain);
  return [...personKeys(lead), ...(named === null ? [] : [named])];
}

/** A key that one person alone has; a name at a company may be two people's. */
export function isStrong(key: string): boolean {
  return !key.startsWith('name:');
}

/** Whether what is known of both tells them apart: another address, another profile. */
export function areDifferent(
  one: Pick<Lead, 'email' | 'linkedin_url'>,
  other: Pick<Lead, 'email' | 'linkedin_url'>,
): boolean {
  const emails = [normaliseEmail(one.email), normaliseEmail(other.email)];
  if (emails[0] !== emails[1] && !emails.includes('')) return true;
  const profiles = [linkedinProfile(one.linkedin_url), linkedinProfile(other.linkedin_url)];
  return profiles[0] !== profiles[1] && !profiles.includes(null);
}

/** What a signal says of its author, and of the author's company. */
export function factsOfSignal({ prospect, company }: Signal): Fact[] {
  return vouchFor(
    {
      name: prospect.name,
      email: normaliseEmail(prospect.email),
      // Anything but a member's page would say nothing in this field.
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
