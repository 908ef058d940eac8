import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createAddressSet } from '../../src/lib/network.ts';
import { checkTarget, isPublicAddress } from '../../src/webhooks/targets.ts';

/** The IANA IPv4 Special-Purpose Address Registry, and multicast, which has its own registry. */
const IPV4_BLOCKS = [
  '0.0.0.0/8 this network',
  '10.0.0.0/8 private use',
  '100.64.0.0/10 shared address space',
  '127.0.0.0/8 loopback',
  '169.254.0.0/16 link local',
  '172.16.0.0/12 private use',
  '192.0.0.0/24 IETF protocol assignments',
  '192.0.0.0/29 service continuity',
  '192.0.0.8/32 dummy address',
  '192.0.0.9/32 port control anycast',
  '192.0.0.10/32 TURN anycast',
  '192.0.0.170/31 NAT64 discovery',
  '192.0.2.0/24 documentation 1',
  '192.31.196.0/24 AS112',
  '192.52.193.0/24 AMT',
  '192.88.99.0/24 6to4 relay anycast',
  '192.168.0.0/16 private use',
  '192.175.48.0/24 direct delegation AS112',
  '198.18.0.0/15 benchmarking',
  '198.51.100.0/24 documentation 2',
  '203.0.113.0/24 documentation 3',
  '224.0.0.0/4 multicast',
  '240.0.0.0/4 reserved',
  '255.255.255.255/32 limited broadcast',
];

/** IANA IPv6 Special-Purpose Address Registry, and further ranges that the address architecture reserves. */
const IPV6_BLOCKS = [
  '::/128 unspecified',
  '::1/128 loopback',
  '::/96 IPv4-compatible',
  '::ffff:0:0/96 IPv4-mapped',
  '::ffff:0:0:0/96 IPv4-translated',
  '64:ff9b::/96 NAT64',
  '64:ff9b:1::/48 local NAT64',
  '100::/64 discard only',
  '100:0:0:1::/64 dummy prefix',
  '2001::/23 IETF protocol assignments',
  '2001::/32 Teredo',
  '2001:1::1/128 port control anycast',
  '2001:1::2/128 TURN anycast',
  '2001:1::3/128 DNS-SD anycast',
  '2001:2::/48 benchmarking',
  '2001:3::/32 AMT',
  '2001:4:112::/48 AS112',
  '2001:10::/28 ORCHID',
  '2001:20::/28 ORCHIDv2',
  '2001:30::/28 drone remote id',
  '2001:db8::/32 documentation',
  '2002::/16 6to4',
  '2620:4f:8000::/48 direct delegation AS112',
  '3fff::/20 documentation',
  '5f00::/16 segment routing',
  'fc00::/7 unique local',
  'fe80::/10 link local',
  'fec0::/10 site local',
  'ff00::/8 multicast',
];

const nothing = createAddressSet([]);
const V4_BITS = 32;
const V6_BITS = 128;

describe.each([
  ['IPv4', IPV4_BLOCKS, V4_BITS],
  ['IPv6', IPV6_BLOCKS, V6_BITS],
] as const)('of %s', (_, blocks, bits) => {
  it.each(blocks)('%s contains no valid target: not its first or last address, nor any other', (block) => {
    const { first, size } = parseBlock(block, bits);
    fc.assert(
      fc.property(fc.bigInt(0n, size - 1n), (offset) => {
        const address = write(first + offset, bits);
        expect([address, isPublicAddress(address)]).toEqual([address, false]);
        const host = bits === V4_BITS ? address : `[${address}]`;
        expect([host, checkTarget(`https://${host}/`, nothing)]).toHaveProperty('1.fault');
      }),
      { examples: [[0n], [size - 1n]], numRuns: 20 },
    );
  });
});

describe('an address outside every special block', () => {
  const outside = (blocks: readonly string[], bits: number, value: bigint) =>
    blocks.every((block) => {
      const { first, size } = parseBlock(block, bits);
      return value < first || value >= first + size;
    });

  test('is public, in IPv4', () => {
    fc.assert(
      fc.property(nearBlocks(IPV4_BLOCKS, V4_BITS), (value) => {
        const address = write(value, V4_BITS);
        expect([address, isPublicAddress(address)]).toEqual([address, outside(IPV4_BLOCKS, V4_BITS, value)]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is public in IPv6 only if it is global unicast, 2000::/3', () => {
    fc.assert(
      fc.property(nearBlocks(IPV6_BLOCKS, V6_BITS), (value) => {
        const address = write(value, V6_BITS);
        const open = value >> 125n === 1n && outside(IPV6_BLOCKS, V6_BITS, value);
        expect([address, isPublicAddress(address)]).toEqual([address, open]);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('rejects an IPv4 address within an IPv6 address, whether it is public or not', () => {
  const word = fc.nat(0xffff);
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), word, word, (ipv4, one, two) => {
      const hidden = hexPair(ipv4);
      const dotted = write(BigInt(ipv4), V4_BITS);
      for (const address of [
        `::ffff:${dotted}`, // mapped
        `::FFFF:${hidden}`,
        `0:0:0:0:0:ffff:${hidden}`,
        `::${dotted}`, // compatible
        `::ffff:0:${dotted}`, // translated
        `64:ff9b::${dotted}`, // NAT64
        `64:ff9b:1:${one.toString(16)}::${hidden}`,
        `2002:${hidden}::`, // 6to4
        `2002:${hidden}:${one.toString(16)}::${two.toString(16)}`,
        `2001:0:${hidden}:${one.toString(16)}:${two.toString(16)}:${hexPair(~ipv4 >>> 0)}`, // Teredo: server and client
      ]) {
        expect([address, isPublicAddress(address)]).toEqual([address, false]);
        expect([address, checkTarget(`https://[${address}]/`, nothing)]).toHaveProperty('1.fault');
      }
    }),
  );
});

describe('a private IPv4 address', () => {
  test('is rejected in every notation', () => {
    fc.assert(
      fc.property(privateAddress(), spelling(), (address, spell) => {
        const url = spell(address);
        expect([url, checkTarget(url, nothing)]).toHaveProperty('1.fault');
      }),
      { numRuns: 5_000 },
    );
  });

  test('denotes the same address in every notation that is valid in a URL', () => {
    let read = 0;
    fc.assert(
      fc.property(privateAddress(), spelling(), (address, spell) => {
        const parsed = URL.parse(spell(address));
        if (parsed === null) return;
        read++;
        expect(parsed.hostname.replace(/\.$/, '')).toBe(write(BigInt(address), V4_BITS));
      }),
      { numRuns: 1_000 },
    );
    expect(read).toBeGreaterThan(500); // otherwise, the test above would only have rejected nonsense
  });
});

/** A random address of a private block, as a number. */
function privateAddress(): fc.Arbitrary<number> {
  return fc
    .constantFrom(...IPV4_BLOCKS)
    .chain((block) => {
      const { first, size } = parseBlock(block, V4_BITS);
      return fc.bigInt(first, first + size - 1n);
    })
    .map(Number);
}

/** A notation of an IPv4 address in a URL: the number of parts, the base of each, and its characters. */
function spelling(): fc.Arbitrary<(address: number) => string> {
  const part = fc.record({
    base: fc.constantFrom(8, 10, 16),
    zeros: fc.nat(3),
    upper: fc.boolean(),
  });
  return fc
    .record({
      deps: fc.array(part, { minLength: 1, maxLength: 4 }),
      scheme: fc.constantFrom('https://', 'HTTPS://', ' https://', 'https:', 'https:\\\\', 'https:/\t/'),
      dot: fc.constantFrom('.', '。', '．', '｡', '%2e', '%2E', '.\n'),
      end: fc.constantFrom('', '.', '/', ':443/', ':8443/x?y=1', '\\', '. '),
      digits: fc.constantFrom<(text: string) => string>(
        (text) => text,
        (text) => text.replace(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit))), // full width
        (text) => text.replace(/[1-9]/g, (digit) => String.fromCharCode(0x2460 + Number(digit) - 1)), // circled
        (text) => text.replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`),
        (text) => `${text.slice(0, 1)}\u00ad${text.slice(1)}`, // soft hyphen
        (text) => `${text.slice(0, 1)}\t${text.slice(1)}`,
        (text) => `${text.slice(0, 1)}\u200b${text.slice(1)}`, // zero-width space
      ),
    })
    .map(({ deps, scheme, dot, end, digits }) => (address: number) => {
      const numbers = splitAddress(address, deps.length);
      const written = numbers.map((value, index) => digits(writePart(value, deps[index] ?? deps[0])));
      return `${scheme}${written.join(dot)}${end}`;
    });
}

/** The address in `count` parts: one byte each, with the rest in the last one. */
function splitAddress(address: number, count: number): number[] {
  const bytes = [24, 16, 8].slice(0, count - 1).map((shift) => Math.floor(address / 2 ** shift) % 256);
  return [...bytes, address % 2 ** (8 * (5 - count))];
}

function writePart(value: number, part: { base: number; zeros: number; upper: boolean } | undefined): string {
  const { base, zeros, upper } = part ?? { base: 10, zeros: 0, upper: false };
  const padding = '0'.repeat(zeros);
  if (base === 10) return String(value); // a leading zero would make it octal
  if (base === 8) return `0${padding}${value.toString(8)}`;
  const text = `0x${padding}${value.toString(16)}`;
  return upper ? text.toUpperCase() : text;
}

/** Addresses around the edges of the blocks, and random ones. */
function nearBlocks(blocks: readonly string[], bits: number): fc.Arbitrary<bigint> {
  const last = 2n ** BigInt(bits) - 1n;
  const edges = blocks.flatMap((block) => {
    const { first, size } = parseBlock(block, bits);
    return [first - 1n, first, first + size - 1n, first + size].filter((at) => at >= 0n && at <= last);
  });
  return fc.oneof(fc.constantFrom(...edges), fc.bigInt(0n, last), fc.bigInt(last >> 3n, (last >> 2n) + 1n));
}

function parseBlock(text: string, bits: number): { first: bigint; size: bigint } {
  const [address = '', prefix = ''] = text.split(' ')[0]?.split('/') ?? [];
  const size = 2n ** BigInt(bits - Number(prefix));
  const first = bits === V4_BITS ? readIpv4(address) : readIpv6(address);
  return { first, size };
}

function readIpv4(text: string): bigint {
  return text.split('.').reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function readIpv6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const words = (side: string) => (side === '' ? [] : side.split(':'));
  const right = words(tail ?? '');
  const left = words(head);
  const filled = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return filled.reduce((sum, word) => sum * 65_536n + BigInt(`0x${word}`), 0n);
}

function write(value: bigint, bits: number): string {
  const [size, base, join] = bits === V4_BITS ? [8n, 10, '.'] : [16n, 16, ':'];
  const parts: string[] = [];
  for (let shift = BigInt(bits) - size; shift >= 0n; shift -= size)
    parts.push(((value >> shift) & (2n ** size - 1n)).toString(base));
  return parts.join(join);
}

function hexPair(ipv4: number): string {
  return `${(ipv4 >>> 16).toString(16)}:${(ipv4 & 0xffff).toString(16)}`;
}
