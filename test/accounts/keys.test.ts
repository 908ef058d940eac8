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

test('a key is sp_live_ followed by 36 base62 characters and passes its own checksum', () => {
  const key = generateApiKey(systemRandom);
  expect(key).toMatch(/^sp_live_[0-9A-Za-z]{36}$/);
  expect(isWellFormedApiKey(key)).toBe(true);
});

test('any single mistyped character is detected without a lookup', () => {
  const key = generateApiKey(systemRandom);
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 43 }), fc.constantFrom('0', 'Q', 'z', '7', 'm'), (at, wrong) => {
      fc.pre(key[at] !== wrong);
      expect(isWellFormedApiKey(`${key.slice(0, at)}${wrong}${key.slice(at + 1)}`)).toBe(false);
    }),
  );
});

test('strings that are not keys are rejected', () => {
  for (const text of ['', 'sp_live_', 'sk_live_abc', `${generateApiKey(systemRandom)} `]) {
    expect(isWellFormedApiKey(text)).toBe(false);
  }
});

test('a write scope includes the matching read scope and nothing else', () => {
  expect(allows(['signals:write'], 'signals:read')).toBe(true);
  expect(allows(['signals:read'], 'signals:write')).toBe(false);
  expect(allows(['signals:write'], 'leads:read')).toBe(false);
});

test('presets expand to their documented scopes', () => {
  expect(parseScopes('admin')).toEqual({ scopes: SCOPES });
  expect(parseScopes('read')).toEqual({ scopes: SCOPES.filter((s) => s.endsWith(':read')) });
  expect(parseScopes('write')).toEqual({ scopes: SCOPES.filter((s) => !s.startsWith('keys:')) });
});

test('a list of scopes is accepted in any order and deduplicated', () => {
  expect(parseScopes('webhooks:write, signals:read,signals:read')).toEqual({
    scopes: ['signals:read', 'webhooks:write'],
  });
});

test('unknown scopes are reported, and built-in property names are not presets', () => {
  expect(parseScopes('signals:raed,read,constructor')).toEqual({ unknown: ['signals:raed', 'constructor'] });
});

test('a key is rejected once revoked and from the moment it expires', () => {
  const key = { revokedAt: null, expiresAt: 1000 } as ApiKey;
  expect(keyRefusal(key, 999)).toBeNull();
  expect(keyRefusal(key, 1000)).toBe('expired');
  expect(keyRefusal({ ...key, revokedAt: 5 }, 10)).toBe('revoked');
});
