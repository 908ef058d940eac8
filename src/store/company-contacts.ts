import type { CompanyContact } from '../model/company.ts';
import type { Lead } from '../model/lead.ts';
import { nameKey, personKeys } from '../model/person-keys.ts';
import type { Signal } from '../model/signal.ts';

/** The people of a company: its leads, and the authors of its signals who are nobody's lead, each person once. */
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

/** Each person once, as first met. A name alone is somebody of that name; of whom nothing is known is nobody. */
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
