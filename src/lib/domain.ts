import { domainToASCII } from 'node:url';
import { getDomain } from 'tldts';

const MAX_LENGTH = 253; // RFC 1035, section 2.3.4, less the root's dot
/** Labels of RFC 1123, section 2.1; the last begins with a letter, so that an IPv4 address is no domain. */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/**
 * The host name that `text` means, in the one form it is compared in: lower case, punycode, without scheme, port, path,
 * final dot and leading `www.`; null where it means none. Other subdomains stay: `uk.acme.com` may be a business of its
 * own, and cutting at the public suffix would make one company of all of `myshopify.com`.
 */
export function normaliseDomain(text: string): string | null {
  const written = text.trim().replace(/^(?:https?:)?\/\//i, '');
  const host = (/^[^/?#]*/.exec(written)?.[0] ?? '').replace(/:\d{1,5}$/, '').replace(/\.$/, '');
  // These domainToASCII would decode or cut at.
  if (/[\s%@\\]/.test(host)) return null;
  const ascii = domainToASCII(host);
  if (ascii.length > MAX_LENGTH || !HOST_NAME.test(ascii)) return null;
  return withoutWww(ascii);
}

/** `www.com` and `www.co.uk` are names of their own: what is left must still be one that somebody can own. */
function withoutWww(host: string): string {
  let bare = host;
  while (bare.startsWith('www.') && getDomain(bare.slice(4)) !== null) bare = bare.slice(4);
  return bare;
}
