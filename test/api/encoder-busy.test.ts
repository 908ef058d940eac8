import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { aPost, buildTestApp } from '../support/app.ts';
import { createFakeEncoder } from '../support/fake-encoder.ts';

test('a batch that would wait too long is rejected with Retry-After, and its key can be reused', async () => {
  let isBusy = true;
  const encoder = createFakeEncoder({
    expect() {
      if (!isBusy) return;
      throw new DomainError('UNAVAILABLE', 'Too many posts are waiting to be scored. Nothing was changed.', {
        retryAfterSeconds: 7,
      });
    },
  });
  const t = await buildTestApp({ encoder });
  const send = () =>
    t.app.inject({
      method: 'POST',
      url: '/v1/signals/batch',
      headers: { ...t.auth, 'idempotency-key': 'once' },
      payload: {
        signals: [
          aPost({ external_id: '1' }),
          aPost({ external_id: '2', text: 'A wish for a booking system.' }),
        ],
      },
    });
  const refused = await send();
  expect(refused.statusCode).toBe(503);
  expect(refused.headers['retry-after']).toBe('7');
  isBusy = false;
  const taken = await send();
  expect(taken.statusCode).toBe(200);
  expect(taken.headers['idempotent-replayed']).toBeUndefined();
  expect(taken.json().data).toMatchObject({ created: 2, duplicates: 0, rejected: 0 });
  await t.app.close();
});
