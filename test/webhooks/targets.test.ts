import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import {
  checkResolvedTarget,
  checkTarget,
  isPublicAddress,
  resolveTarget,
} from '../../src/webhooks/targets.ts';

const set = (...texts: string[]) =>
  createAddressSet(texts.map((text) => parseCidr(text)).filter((cidr) => cidr !== null));
const nothing = set();
const loopback = set('127.0.0.0/8', '::1/128');

describe('a webhook target', () => {
  it.each([
    'https://example.com/hook?x=1',
    'https://example.com:8443/',
    'https://EXAMPLE.com:443',
    'https://93.184.216.34/',
    'https://[2606:4700::1111]/hook',
    'https://bücher.example.com/',
  ])('may be %s', (url) => {
    expect(checkTarget(url, nothing)).toHaveProperty('url');
  });

  it.each([
    'http://example.com/',
    'ftp://example.com/',
    'example.com',
    'https://example.com:444/',
    'https://example.com:80/',
    'https://user@example.com/',
    'https://:pw@example.com/',
    'https://example.com/#top',
    'https://example.com/#',
    'https://localhost/',
    'https://localhost./',
    'https://localhost../',
    'https://localhost%2e./',
    'https://localhost。。/',
    'https://a.localhost.../',
    'https://metadata.google.internal../',
    'https://example..com/',
    'https://127.0.0.1../',
    'https://a.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://intranet/',
    'https://127.0.0.1/',
    'https://127.0.0.1./',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0x7f.1/',
    'https://１２７.0.0.1/',
    'https://%31%32%37.0.0.1/',
    'https://0/',
    'https://169.254.169.254/latest/',
    'https://100.100.100.200/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://[3fff::1]/',
  ])('may not be %s', (url) => {
    expect(checkTarget(url, nothing)).toHaveProperty('fault');
  });

  it('may be plain http on any port if its literal address is exempt, or localhost with 127.0.0.1', () => {
    for (const url of [
      'http://127.0.0.1:9000/',
      'http://[::1]:1/',
      'http://localhost:3000/',
      'http://2130706433/',
    ])
      expect(checkTarget(url, loopback)).toHaveProperty('url');
    for (const url of [
      'http://10.0.0.1/',
      'http://example.com/',
      'http://app.localhost/',
      'http://u@127.0.0.1/',
    ])
      expect(checkTarget(url, loopback)).toHaveProperty('fault');
  });

  it('may not be a private IPv4 address in any numeric notation', () => {
    const octet = fc.nat(255);
    const privates = fc.oneof(
      fc.tuple(fc.constantFrom(0, 10, 127, 224, 240, 255), octet, octet, octet),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
      fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
      fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    );
    fc.assert(
      fc.property(privates, ([a, b, c, d]) => {
        const number = a * 2 ** 24 + b * 2 ** 16 + c * 256 + d;
        const hex = (part: number) => `0x${part.toString(16)}`;
        const octal = (part: number) => `0${part.toString(8)}`;
        const spellings = [
          `${a}.${b}.${c}.${d}`,
          `${a}.${b}.${c}.${d}.`,
          [a, b, c, d].map(hex).join('.'),
          [a, b, c, d].map(octal).join('.'),
          `${a}.${b}.${c * 256 + d}`,
          `${a}.${number % 2 ** 24}`,
          String(number),
          hex(number),
          octal(number),
          `[::ffff:${a}.${b}.${c}.${d}]`,
          `[::${a}.${b}.${c}.${d}]`,
          `[64:ff9b::${a}.${b}.${c}.${d}]`,
          `[2002:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}::]`,
        ];
        for (const host of spellings)
          expect([host, checkTarget(`https://${host}/`, nothing)]).toHaveProperty('1.fault');
      }),
    );
  });
});

describe('an address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '100.63.255.255', '172.32.0.1', '2606:4700::1', '2a00:1450::1'])(
    'like %s is public',
    (ip) => expect(isPublicAddress(ip)).toBe(true),
  );
  it.each([
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '255.255.255.255',
    '2001:db8::1',
    'fe80::1%eth0',
    'x',
  ])('like %s is not public', (ip) => expect(isPublicAddress(ip)).toBe(false));
});

describe('the addresses of a name', () => {
  const answers =
    (...ips: string[]) =>
    async () =>
      ips;
  const fails = async () => {
    throw new Error('ENOTFOUND');
  };

  it('are all rejected if one of them is private', async () => {
    const mixed = answers('93.184.216.34', '10.0.0.1');
    expect(await resolveTarget('example.com', nothing, mixed)).toEqual({ fault: 'blocked' });
    expect(await checkResolvedTarget(new URL('https://example.com'), nothing, mixed, 'ten_a')).toMatch(
      /public internet/,
    );
  });

  it('are accepted if all are public or exempt', async () => {
    const both = answers('93.184.216.34', '127.0.0.1');
    expect(await resolveTarget('example.com', loopback, both)).toEqual({
      addresses: ['93.184.216.34', '127.0.0.1'],
    });
    expect(await checkResolvedTarget(new URL('https://example.com'), loopback, both, 'ten_a')).toBeNull();
  });

  it('are not an error when saving if the name does not currently resolve', async () => {
    expect(await checkResolvedTarget(new URL('https://example.com'), nothing, fails, 'ten_a')).toBeNull();
    expect(await resolveTarget('example.com', nothing, answers())).toEqual({ fault: 'dns' });
  });

  it('are not looked up for a literal address', async () => {
    expect(await resolveTarget('8.8.8.8', nothing, fails)).toEqual({ addresses: ['8.8.8.8'] });
  });
});
