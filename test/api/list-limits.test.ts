import { afterEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

test('of many concurrent requests for pages, an account has four read and serialized at once', async () => {
  let reading = 0;
  let most = 0;
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      async pageProfiles(...args) {
        most = Math.max(most, ++reading);
        await new Promise(setImmediate);
        const page = await store.pageProfiles(...args);
        reading--;
        return page;
      },
    }),
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => t.app.inject({ url: '/v1/icps', headers: t.auth })),
  );
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(most).toBe(4);
});
