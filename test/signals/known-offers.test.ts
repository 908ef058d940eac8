import { expect, test } from 'vitest';
import { knownNumbers, prepareKnownOffers, readKnownOffers } from '../../src/signals/offer.ts';
import { createFakeEncoder } from '../support/fake-encoder.ts';

test('the known offers are encoded ahead of the first post, which tries again if that failed', async () => {
  const broken = createFakeEncoder();
  await prepareKnownOffers({
    begin: (work) => ({ ...broken.begin(work), encode: () => Promise.reject(new Error('its thread ended')) }),
  });
  const encoder = createFakeEncoder();
  await prepareKnownOffers(encoder);
  expect(encoder.texts).toHaveLength(readKnownOffers().length);
  const ofPost = createFakeEncoder();
  expect(await knownNumbers(ofPost)).toHaveLength(readKnownOffers().length);
  expect(ofPost.texts).toEqual([]);
});
