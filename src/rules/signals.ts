import { HOUR_MS } from '../lib/clock.ts';
import type { Company, CompanyContact, ObservedCompany } from '../model/company.ts';
import { NO_FACTS, observeFacts } from '../model/company-facts.ts';
import type { Lead } from '../model/lead.ts';
import { nameKey, personKeys } from '../model/person-keys.ts';
import type { Explanation, Signal } from '../model/signal.ts';

/**
 * Applies an edit of the post to a stored signal: classification, score and text are replaced, new facts
 * about author and company are added, and id, detection time, lead and cross-posts stay.
 */
export function editedSignal(before: Signal, edit: Signal): Signal {
  return {
    ...before,
    signal_type: edit.signal_type,
    classification: edit.classification,
    icp_score: edit.icp_score,
    prospect: filled(before.prospect, edit.prospect),
    // Facts about a different company replace the earlier ones.
    company:
      edit.company.domain === '' || edit.company.domain === before.company.domain
        ? filled(before.company, edit.company)
        : edit.company,
    platform: filled(before.platform, edit.platform),
    excerpt: edit.excerpt,
    icp_profile_name: edit.icp_profile_name,
  };
}

/** Later facts replace earlier ones unless they are empty. */
function filled<T extends Record<string, string>>(before: T, later: T): T {
  const known = Object.entries(later).filter(([, value]) => value !== '');
  return { ...before, ...Object.fromEntries(known) };
}

/** A signal and its explanation, as JSON texts. */
interface SignalTexts {
  wire: string;
  explanation: string;
}

/**
 * Removes the person from a signal: author, post, URL and all quotes are deleted, while everything that was
 * counted (company, score with its points, platform, detection time) stays. `leadId` is the erased lead.
 */
export function eraseSignal({ wire, explanation }: SignalTexts, leadId: string): SignalTexts {
  const { also_seen: _places, ...signal } = JSON.parse(wire) as Signal;
  const erased: Signal = {
    ...signal,
    prospect: { name: '', title: '', email: '', linkedin_url: '' },
    // The minute of a post on a platform is enough to identify its author.
    platform: { name: signal.platform.name, post_url: '', posted_at: '' },
    excerpt: '',
    external_id: null,
    lead_id: signal.lead_id === leadId ? null : signal.lead_id,
  };
  return { wire: JSON.stringify(erased), explanation: eraseQuotes(explanation) };
}

/** The points still add up to the score; the quoted evidence is deleted. */
function eraseQuotes(text: string): string {
  const explanation = JSON.parse(text) as Explanation;
  const withoutEvidence = (factor: Explanation['factors'][number]) => ({ ...factor, evidence: [] });
  const erased: Explanation = {
    ...explanation,
    factors: explanation.factors.map(withoutEvidence),
    negatives: explanation.negatives.map(withoutEvidence),
    summary: `Scored ${explanation.score}; its author was erased.`,
  };
  return JSON.stringify(erased);
}

/** Precision of the sort order by activity: a burst of signals moves a company once. */
const ACTIVITY_GRAIN_MS = HOUR_MS;

/** The hour in which a signal was active. */
export function activityOf(timestamp: number): number {
  return timestamp - (timestamp % ACTIVITY_GRAIN_MS);
}

/** Updates a company from a signal; null if the signal adds nothing new, as is usual. */
export function observeCompany(
  known: Company | null,
  { id, company }: ObservedCompany,
  signal: { id: string; tenantId: string; timestamp: number },
): Company | null {
  const { id: signalId, tenantId, timestamp } = signal;
  const facts = observeFacts(known?.facts ?? NO_FACTS, company, { signalId, at: timestamp });
  if (known === null) {
    const times = { createdAt: timestamp, updatedAt: timestamp };
    return { id, tenantId, domain: company.domain, facts, ...times, version: 1 };
  }
  return facts === known.facts ? null : { ...known, facts, updatedAt: timestamp, version: known.version + 1 };
}

/** People at a company, each once: its leads, and the authors of its signals who are not leads. */
export function contactsOf(leads: Lead[], signals: Signal[], domain: string): CompanyContact[] {
  const people = signals.filter(({ lead_id }) => lead_id === null).map(ofSignal);
  return distinct([...leads.map(ofLead), ...people], domain);
}

function ofLead({ id, name, title, email, linkedin_url }: Lead): CompanyContact {
  return { lead_id: id, signal_id: null, name, title, email, linkedin_url };
}

function ofSignal({ signal_id, prospect: { name, title, email, linkedin_url } }: Signal): CompanyContact {
  return { lead_id: null, signal_id, name, title, email, linkedin_url };
}

/**
 * Each person once, in order of appearance. A name alone identifies a person; contacts without any known
 * facts are omitted.
 */
function distinct(contacts: CompanyContact[], domain: string): CompanyContact[] {
  const seen = new Set<string>();
  return contacts.filter((contact) => {
    const keys = personKeys(contact);
    const name = nameKey(contact.name, domain);
    const known = keys.length > 0 ? keys.some((key) => seen.has(key)) : name === null || seen.has(name);
    for (const key of name === null ? keys : [...keys, name]) seen.add(key);
    return contact.lead_id !== null || !known;
  });
}
