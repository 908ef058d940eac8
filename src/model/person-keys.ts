import { getDomain } from 'tldts';
import { normaliseDomain } from '../lib/network.ts';
import { fold, normalised, parseUrl } from '../lib/text.ts';
import type { Signal } from './signal.ts';

/** LinkedIn allows a hundred. PostgreSQL's indexes cannot contain keys of more than 2,704 bytes. */
const MAX_PROFILE_CHARS = 400;

/** The facts that identify a person; an empty string is unknown. */
export interface PersonFacts {
  email: string;
  linkedin_url: string;
}

/**
 * The keys that connect a person's posts and leads, such as `email:jane@acme.com` and `linkedin:in/jane-doe`.
 * Plus addresses stay separate: `sales+north@` and `sales+south@` are often two mailboxes, and a merge cannot
 * be undone.
 */
export function personKeys({ email, linkedin_url }: PersonFacts): string[] {
  const address = normaliseEmail(email);
  const profile = linkedinProfile(linkedin_url);
  return [
    ...(address === '' ? [] : [`email:${address}`]),
    ...(profile === null ? [] : [`linkedin:${profile}`]),
  ];
}

/** The form in which email addresses are compared and shown. */
export function normaliseEmail(email: string): string {
  return email.trim().toLowerCase();
}

/**
 * The canonical path of a LinkedIn member: regional hosts (`de.linkedin.com`), the mobile site, a trailing
 * language, the query and a trailing slash make no difference. Null unless the URL is a member's page.
 */
export function linkedinProfile(text: string): string | null {
  const written = text.trim();
  const url = /^https?:\/\//i.test(written) ? written : `https://${written}`;
  const parsed = parseUrl(url);
  if (parsed === null) return null;
  const { hostname, pathname } = parsed;
  if (hostname !== 'linkedin.com' && !hostname.endsWith('.linkedin.com')) return null;
  const path = /^\/(?:mwlite\/)?(in|pub)\/([^/]+)((?:\/[^/]+){0,3})/i.exec(pathname);
  if (path === null) return null;
  const kind = path[1]?.toLowerCase();
  const name = decoded(path[2] ?? '');
  if (/\p{Cc}/u.test(name)) return null;
  // An old public URL needs its three groups of characters; a new one is followed by a language at most.
  const profile = `${kind}/${name}${kind === 'pub' ? (path[3] ?? '').toLowerCase() : ''}`;
  return profile.length <= MAX_PROFILE_CHARS ? profile : null;
}

/**
 * The key of a name at a company: the weakest one, because two people can share it. Null if either is
 * unknown.
 */
export function nameKey(name: string, companyDomain: string): string | null {
  const words = foldName(name);
  const domain = normaliseDomain(companyDomain);
  if (words === '' || domain === null) return null;
  // Private suffixes count: two shops on myshopify.com are two companies.
  return `name:${words}@${getDomain(domain, { allowPrivateDomains: true }) ?? domain}`;
}

/** Removes accents of European scripts, and keeps the marks of scripts where they are vowels. */
function foldName(name: string): string {
  const plain = normalised(name, 'NFKD').replace(/[\u0300-\u036f]/gu, '');
  return normalised(plain, 'NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

function decoded(segment: string): string {
  try {
    return normalised(decodeURIComponent(segment), 'NFC').toLowerCase();
  } catch {
    return segment.toLowerCase(); // a stray percent sign
  }
}

type Author = Pick<Signal['prospect'], 'name' | 'email' | 'linkedin_url'>;

/**
 * Whether two posts have the same author. A shared address or profile decides first, then a different one of
 * the same kind, then the names, if they are known.
 */
export function compareAuthors(a: Author, b: Author): 'same' | 'different' | 'unknown' {
  const [keysA, keysB] = [personKeys(a), personKeys(b)];
  if (keysA.some((key) => keysB.includes(key))) return 'same';
  if (keysA.some((key) => keysB.some((other) => kindOf(key) === kindOf(other)))) return 'different';
  const [nameA, nameB] = [nameOf(a), nameOf(b)];
  if (nameA === '' || nameB === '') return 'unknown';
  return nameA === nameB ? 'same' : 'different';
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf(':'));
}

/** Folded, with single spaces, and without the prefix of a handle. */
function nameOf({ name }: Author): string {
  return fold(name)
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/^@|^\/?u\//u, '');
}
