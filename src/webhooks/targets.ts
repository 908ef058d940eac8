import { BlockList, isIP } from 'node:net';
import type { AddressSet } from '../lib/network.ts';
import { parseUrl } from '../lib/text.ts';

/**
 * Returns the addresses of a name, as IP literals; rejects or returns none if it does not resolve. Names of an owner take
 * turns; by default, each name is its own.
 */
export type Lookup = (hostname: string, owner?: string) => Promise<readonly string[]>;

/** The addresses of a target, or why there are none. `blocked` does not reveal which address it was. */
export type ResolvedTarget = { addresses: readonly string[] } | { fault: 'blocked' | 'dns' };

const PORTS = new Set(['', '443', '8443']);
/** Ports of public web sites, including those without TLS. */
const SITE_PORTS = new Set([...PORTS, '80', '8080']);

/** Names that only exist inside a network (RFC 6761, 6762, 8375, ICANN's `.internal`, and common usage). */
const PRIVATE_SUFFIXES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'home.arpa',
  'lan',
  'home',
  'corp',
  'private',
];

const NOT_PUBLIC = 'must point to the public internet, not to a private, local or reserved address';

/**
 * Checks a webhook's target without a look-up: public HTTPS on port 443 or 8443, no credentials, no fragment.
 * `new URL` has already converted every notation of an IPv4 address (decimal, octal, hex, short, full-width,
 * trailing dot) to dotted form, so one test of the parsed host covers them all. A literal inside `allow`, or
 * `localhost` if `allow` contains 127.0.0.1, may use `http:` and any port.
 */
export function checkTarget(urlText: string, allow: AddressSet): { url: URL } | { fault: string } {
  const url = parseUrl(urlText);
  if (url === null) return { fault: 'must be an absolute URL, like https://example.com/webhooks' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { fault: 'must start with https://' };
  if (url.username !== '' || url.password !== '')
    return { fault: 'must not contain a user name or a password' };
  if (urlText.includes('#')) return { fault: 'must not contain a fragment (#…)' };

  const host = hostOf(url);
  if (isIP(host) === 0 ? host === 'localhost' && allow.has('127.0.0.1') : allow.has(host)) return { url };
  if (url.protocol !== 'https:') return { fault: 'must start with https://' };
  if (!PORTS.has(url.port)) return { fault: 'must use port 443 or 8443' };
  return isPublicHost(host) ? { url } : { fault: NOT_PUBLIC };
}

/**
 * Checks a URL to read from the web, such as a feed or a redirect target: http or https on public addresses,
 * no credentials. Addresses inside `allow` may be read on any port.
 */
export function checkSite(urlText: string, allow: AddressSet): { url: URL } | { fault: string } {
  const url = parseUrl(urlText);
  if (url === null) return { fault: 'must be an absolute URL, like https://example.com/feed.xml' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { fault: 'must start with https:// or http://' };
  if (url.username !== '' || url.password !== '')
    return { fault: 'must not contain a user name or a password' };

  const host = hostOf(url);
  if (isIP(host) === 0 ? host === 'localhost' && allow.has('127.0.0.1') : allow.has(host)) return { url };
  if (!SITE_PORTS.has(url.port)) return { fault: 'must use port 80, 443, 8080 or 8443' };
  return isPublicHost(host) ? { url } : { fault: NOT_PUBLIC };
}

/**
 * Whether a name or an address literal is on the public internet, as far as that is known without a look-up.
 */
function isPublicHost(host: string): boolean {
  return isIP(host) === 0 ? !isPrivateName(host) : isPublicAddress(host);
}

/** The host of a URL without IPv6 brackets and without the trailing dot (`localhost.` is `localhost`). */
export function hostOf(url: URL): string {
  const host = url.hostname;
  if (host.startsWith('[')) return host.slice(1, -1);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/**
 * Resolves a host to addresses that are all public or allowed. A single forbidden address rejects the whole
 * result: a name with both is a rebinding attempt or a mistake, never a receiver.
 */
export async function resolveTarget(
  hostname: string,
  allow: AddressSet,
  lookup: Lookup,
  owner?: string,
): Promise<ResolvedTarget> {
  const addresses = isIP(hostname) === 0 ? await lookup(hostname, owner).catch(() => []) : [hostname];
  if (addresses.length === 0) return { fault: 'dns' };
  const reachable = addresses.every((address) => allow.has(address) || isPublicAddress(address));
  return reachable ? { addresses } : { fault: 'blocked' };
}

/**
 * Checks a target on saving: returns an error if the name resolves to a forbidden address, and null if it is
 * fine or does not resolve now. For safety, it is resolved and checked again on every connection.
 */
export async function checkResolvedTarget(
  url: URL,
  allow: AddressSet,
  lookup: Lookup,
  owner: string,
): Promise<string | null> {
  const resolved = await resolveTarget(hostOf(url), allow, lookup, owner);
  return 'fault' in resolved && resolved.fault === 'blocked' ? NOT_PUBLIC : null;
}

function isPrivateName(host: string): boolean {
  // A single label resolves through the search domains of our own network. An empty label (`localhost..`) is
  // not valid in DNS (RFC 1035, section 2.3.4), but hides the name before it from the list below.
  if (!host.includes('.') || host.split('.').includes('')) return true;
  return PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/**
 * IANA special-purpose IPv4 ranges (RFC 6890 and its registry). Webhooks may not reach any of them, including
 * globally reachable ones, because the nearest host answers these.
 */
const SPECIAL_IPV4: readonly [string, number][] = [
  ['0.0.0.0', 8], // "this network": Linux connects 0.0.0.0 to the local host
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT, and cloud metadata at some providers
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24], // AS112: answered by the nearest name server, possibly in our own network
  ['192.52.193.0', 24], // AMT relays
  ['192.88.99.0', 24], // 6to4 relays, withdrawn by RFC 7526
  ['192.168.0.0', 16],
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4], // reserved, including the broadcast address
];

/**
 * Ranges that are not public inside 2000::/3. Everything outside it (loopback, ULA, mapped, NAT64) is
 * rejected as a whole.
 */
const SPECIAL_IPV6: readonly [string, number][] = [
  ['2001::', 23], // IETF assignments: Teredo (contains an IPv4 address), ORCHID, benchmarking
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4 (contains an IPv4 address)
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation, RFC 9637
];

const specialIpv4 = listOf(SPECIAL_IPV4, 'ipv4');
const specialIpv6 = listOf(SPECIAL_IPV6, 'ipv6');
const globalUnicast = listOf([['2000::', 3]], 'ipv6');

/** Whether `ip`, an IP literal, is on the public internet. Scoped addresses (`fe80::1%eth0`) are not. */
export function isPublicAddress(ip: string): boolean {
  const version = isIP(ip);
  if (version === 4) return !specialIpv4.check(ip, 'ipv4');
  if (version !== 6 || ip.includes('%')) return false;
  return globalUnicast.check(ip, 'ipv6') && !specialIpv6.check(ip, 'ipv6');
}

function listOf(ranges: readonly [string, number][], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, family);
  return list;
}
