import { BlockList, isIP } from 'node:net';

/**
 * IANA special-purpose IPv4 ranges (RFC 6890 and its registry), none of which a webhook may reach: not those either that
 * are globally reachable, as they are answered by whatever is near.
 */
const SPECIAL_IPV4: readonly [string, number][] = [
  ['0.0.0.0', 8], // "this network": Linux connects 0.0.0.0 to itself
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT, and cloud metadata at some providers
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, cloud metadata
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24], // AS112: answered by the nearest name server, which may be our network's own
  ['192.52.193.0', 24], // AMT relays
  ['192.88.99.0', 24], // 6to4 relays, withdrawn by RFC 7526
  ['192.168.0.0', 16],
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4], // reserved, with the broadcast address
];

/** What is not public inside 2000::/3; everything outside it (loopback, ULA, mapped, NAT64) is refused as a whole. */
const SPECIAL_IPV6: readonly [string, number][] = [
  ['2001::', 23], // IETF assignments: Teredo hides an IPv4 address, ORCHID, benchmarking
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4 hides an IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation, RFC 9637
];

const specialIpv4 = listOf(SPECIAL_IPV4, 'ipv4');
const specialIpv6 = listOf(SPECIAL_IPV6, 'ipv6');
const globalUnicast = listOf([['2000::', 3]], 'ipv6');

/** True where `ip`, an IP literal, is an address of the public internet. Scoped addresses (`fe80::1%eth0`) are not. */
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
