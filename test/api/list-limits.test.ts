import { afterEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

test('of many concurrent requests for pages and pipelines, an account has four read and serialized at once', async () => {
  let reading = 0;
  let most = 0;
  async function counted<T>(read: () => Promise<T>): Promise<T> {
    most = Math.max(most, ++reading);
    await new Promise(setImmediate);
    const result = await read();
    reading--;
    return result;
  }
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      pageProfiles: (...args) => counted(() => store.pageProfiles(...args)),
      readBoard: (...args) => counted(() => store.readBoard(...args)),
    }),
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      t.app.inject({ url: n % 2 === 0 ? '/v1/icps' : '/v1/pipeline', headers: t.auth }),
    ),
  );
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(most).toBe(4);
});

test('pages in the order of storing count as well, but not while they wait', async () => {
  let reading = 0;
  let most = 0;
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      async listStoredSignals(...args) {
        most = Math.max(most, ++reading);
        await new Promise(setImmediate);
        const page = await store.listStoredSignals(...args);
        reading--;
        return page;
      },
    }),
  });
  const get = (query: string) => t.app.inject({ url: `/v1/signals?order=stored${query}`, headers: t.auth });
  const waiting = Array.from({ length: 10 }, () => get('&wait=20'));
  const answers = await Promise.all(Array.from({ length: 20 }, () => get('')));
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost() });
  const woken = await Promise.all(waiting);
  expect(new Set(woken.map((answer) => answer.json().data.length))).toEqual(new Set([1]));
  expect(most).toBe(4);
});
