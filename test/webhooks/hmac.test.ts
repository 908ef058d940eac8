import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHmacSha256 } from '../../src/webhooks/hmac.ts';

test('for any key and data it gives what createHmac gives, also when the key is used again', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.uint8Array({ maxLength: 3_000 })),
      (key, messages) => {
        const hmac = createHmacSha256(key);
        for (const data of messages) {
          expect(hmac(data, 'hex')).toBe(createHmac('sha256', key).update(data).digest('hex'));
          expect(hmac(data, 'base64')).toBe(createHmac('sha256', key).update(data).digest('base64'));
        }
      },
    ),
  );
});

test('it gives the published value of RFC 4231, test case 2', () => {
  expect(createHmacSha256(Buffer.from('Jefe'))(Buffer.from('what do ya want for nothing?'), 'hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});
