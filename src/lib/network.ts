import { BlockList, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { domainToASCII } from 'node:url';
import { getDomain } from 'tldts';

/** An address range in CIDR notation (RFC 4632, RFC 4291), as written and parsed. */
export interface Cidr {
  text: string;
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

/** Parses `192.0.2.0/24` or `2001:db8::/32`; a bare address is a range of one. Null if it is neither. */
export function parseCidr(text: string): Cidr | null {
  const [address = '', prefixText, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0 || address.includes('%')) return null;
  const bits = version === 4 ? 32 : 128;
  if (prefixText !== undefined && !/^\d{1,3}$/.test(prefixText)) return null;
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  if (prefix > bits) return null;
  return { text, address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Tests whether an address is in one of several ranges; `has` takes a literal address of either family. */
export interface AddressSet {
  has(address: string): boolean;
}

export function createAddressSet(ranges: readonly Cidr[]): AddressSet {
  const list = new BlockList();
  for (const range of ranges) list.addSubnet(range.address, range.prefix, range.family);
  return {
    has(address) {
      const version = isIP(address);
      return version !== 0 && ranges.length > 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

/** The current addresses of this machine, including the whole loopback range. */
export function ownAddresses(): AddressSet {
  const found = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const ranges = found.map(({ address, cidr, internal }) => parseCidr(internal && cidr ? cidr : address));
  return createAddressSet(ranges.filter((range) => range !== null));
}

/**
 * The network of a client's address, without the part that identifies a single machine: `203.0.113.0/24` or
 * `2001:db8:1::/48`. It helps to tell an attack from a visit without identifying people. Empty if `address`
 * is not an IP address.
 */
export function networkOf(address: string): string {
  const version = isIP(address);
  if (version === 0) return '';
  if (version === 4) return `${address.split('.').slice(0, 3).join('.')}.0/24`;
  const [head = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  return `${groups.slice(0, 3).join(':')}::/48`;
}

const MAX_LENGTH = 253; // RFC 1035, section 2.3.4, without the dot of the root
/** Each character has at most two units, and Punycode makes a name no shorter. */
const MAX_WRITTEN_UNITS = 2 * MAX_LENGTH;
/** Labels of RFC 1123, section 2.1; the last one starts with a letter, so an IPv4 address is not a domain. */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;

/**
 * The host name in `text` in canonical form: lower case, punycode, without scheme, port, path, final dot and
 * leading `www.`; null if there is none. Other subdomains stay: `uk.acme.com` may be a separate business, and
 * reducing to the registrable domain would merge all shops on `myshopify.com`.
 */
export function normaliseDomain(text: string): string | null {
  const written = text.trim().replace(/^(?:https?:)?\/\//i, '');
  const host = (/^[^/?#]*/.exec(written)?.[0] ?? '').replace(/:\d{1,5}$/, '').replace(/\.$/, '');
  // domainToASCII would decode these characters, or truncate the name at them.
  if (host.length > MAX_WRITTEN_UNITS || /[\s%@\\]/.test(host)) return null;
  const ascii = domainToASCII(host);
  if (ascii.length > MAX_LENGTH || !HOST_NAME.test(ascii)) return null;
  return withoutWww(ascii);
}

/**
 * `www.com` and `www.co.uk` are domains themselves: `www.` is removed only if the rest is a registrable
 * domain.
 */
function withoutWww(host: string): string {
  let bare = host;
  while (bare.startsWith('www.') && getDomain(bare.slice(4)) !== null) bare = bare.slice(4);
  return bare;
}

/** Ends a connection once it has received more than `most` bytes since it was opened, or since it was last `free` of its agent. */
export function limitReceived(socket: Socket, most: number, message: string): void {
  let bytes = 0;
  socket.on('free', () => {
    bytes = 0;
  });
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > most) socket.destroy(new Error(message));
  });
}
