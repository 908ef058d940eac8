import providers from 'email-providers/all.json' with { type: 'json' };

/** Providers that the list lacks. */
const MORE_PROVIDERS = [
  'fastmail.com',
  'tutanota.com',
  'tuta.io',
  'duck.com',
  'hushmail.com',
  'zohomail.com',
];
/** RFC 2606 reserves these for documentation: nobody's free mail, whatever a list scraped from the web says. */
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

/** An e-mail address taken apart. */
export interface Mailbox {
  domain: string;
  /** Gmail and the like, which says nothing of a company. */
  isFree: boolean;
  /** `info@`, `sales@`: a desk, not a person. */
  isRole: boolean;
  /** First and last name, where the address is spelled `first.last`; else null. */
  name: { first: string; last: string } | null;
}

/** What an address says of its owner; null where it is none. */
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
