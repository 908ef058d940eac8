import { expect, test } from 'vitest';
import { base32, stepOf, stepOfCode, totpCode, totpUri } from '../../src/lib/totp.ts';

const SECRET = Buffer.from('12345678901234567890');

test('codes match RFC 6238, appendix B', () => {
  const vectors = [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const;
  for (const [seconds, code] of vectors) expect(totpCode(SECRET, stepOf(seconds * 1_000), 8)).toBe(code);
  expect(totpCode(SECRET, 1)).toBe('287082');
});

test('codes for counters match RFC 4226, appendix D', () => {
  const codes = [
    '755224',
    '287082',
    '359152',
    '969429',
    '338314',
    '254676',
    '287922',
    '162583',
    '399871',
    '520489',
  ];
  expect(codes.map((_, i) => totpCode(SECRET, i))).toEqual(codes);
});

test('a code is valid one step early or late, and only after the last accepted step', () => {
  const now = 1_000_000_000_000;
  const step = stepOf(now);
  const found = [-2, -1, 0, 1, 2].map((away) =>
    stepOfCode(SECRET, totpCode(SECRET, step + away), { now, after: 0 }),
  );
  expect(found).toEqual([null, step - 1, step, step + 1, null]);
  expect(stepOfCode(SECRET, totpCode(SECRET, step), { now, after: step })).toBeNull();
  const spaced = totpCode(SECRET, step).replace(/^.../, '$& ');
  expect(stepOfCode(SECRET, spaced, { now, after: step - 1 })).toBe(step);
  expect(stepOfCode(SECRET, '', { now, after: 0 })).toBeNull();
});

test('secrets are encoded in base32 without padding (RFC 4648, section 10)', () => {
  const vectors = {
    '': '',
    f: 'MY',
    fo: 'MZXQ',
    foo: 'MZXW6',
    foob: 'MZXW6YQ',
    fooba: 'MZXW6YTB',
    foobar: 'MZXW6YTBOI',
  };
  for (const [plain, coded] of Object.entries(vectors)) expect(base32(Buffer.from(plain))).toBe(coded);
});

test('the URI contains everything an authenticator needs', () => {
  const uri = new URL(totpUri(SECRET, { issuer: 'Signalpost', account: 'a b@example.com' }));
  expect([uri.protocol, uri.host, uri.pathname]).toEqual([
    'otpauth:',
    'totp',
    '/Signalpost:a%20b%40example.com',
  ]);
  expect(Object.fromEntries(uri.searchParams)).toEqual({
    ...{ secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', issuer: 'Signalpost' },
    ...{ algorithm: 'SHA1', digits: '6', period: '30' },
  });
});
