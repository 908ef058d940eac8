import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  allows,
  generateApiKey,
  isWellFormedApiKey,
  keyRefusal,
  parseScopes,
} from '../../src/accounts/keys.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { type ApiKey, SCOPES } from '../../src/model/key.ts';

test('a key is sp_live_ and 36 base62 characters, and passes its own check', () => {
  const key = generateApiKey(systemRandom);
  expect(key).toMatch(/^sp_live_[0-9A-Za-z]{36}$/);
  expect(isWellFormedApiKey(key)).toBe(true);
});

test('any single mistyped character is noticed without a look-up', () => {
  const key = generateApiKey(systemRandom);
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 43 }), fc.constantFrom('0', 'Q', 'z', '7', 'm'), (at, wrong) => {
      fc.pre(key[at] !== wrong);
      expect(isWellFormedApiKey(`${key.slice(0, at)}${wrong}${key.slice(at + 1)}`)).toBe(false);
    }),
  );
});

test('what is no key is no key', () => {
  for (const text of ['', 'sp_live_', 'sk_live_abc', `${generateApiKey(systemRandom)} `]) {
    expect(isWellFormedApiKey(text)).toBe(false);
  }
});

test('write includes read and nothing else', () => {
  expect(allows(['signals:write'], 'signals:read')).toBe(true);
  expect(allows(['signals:read'], 'signals:write')).toBe(false);
  expect(allows(['signals:write'], 'leads:read')).toBe(false);
});

test('the presets are what they say', () => {
  expect(parseScopes('admin')).toEqual({ scopes: SCOPES });
  expect(parseScopes('read')).toEqual({ scopes: SCOPES.filter((s) => s.endsWith(':read')) });
  expect(parseScopes('write')).toEqual({ scopes: SCOPES.filter((s) => !s.startsWith('keys:')) });
});

test('a list of scopes is taken in any order, once each', () => {
  expect(parseScopes('webhooks:write, signals:read,signals:read')).toEqual({
    scopes: ['signals:read', 'webhooks:write'],
  });
});

test('unknown scopes are named, and names of the language itself are no presets', () => {
  expect(parseScopes('signals:raed,read,constructor')).toEqual({ unknown: ['signals:raed', 'constructor'] });
});

test('a key is refused once revoked, and from the moment it expires', () => {
  const key = { revokedAt: null, expiresAt: 1000 } as ApiKey;
  expect(keyRefusal(key, 999)).toBeNull();
  expect(keyRefusal(key, 1000)).toBe('expired');
  expect(keyRefusal({ ...key, revokedAt: 5 }, 10)).toBe('revoked');
});
