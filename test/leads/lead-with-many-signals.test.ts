import { afterEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

test('a post that matches dozens of profiles is stored in several commits, and all of its signals belong to the lead', async () => {
  const written: number[] = [];
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      commitLead(change) {
        written.push(change.newSignals.length);
        return store.commitLead(change);
      },
    }),
  });
  for (let n = 0; n < 60; n++) {
    const payload = { name: `Profile ${n}`, phrases: ['crm'] };
    const answer = await t.app.inject({ method: 'POST', url: '/v1/icps', headers: t.auth, payload });
    expect([answer.statusCode, answer.body]).toEqual([201, expect.anything()]);
  }
  const signal = { ...aPost(), text: `We need a new crm. ${'漢字'.repeat(5_000)}` };
  const payload = { email: 'jane@acme.com', signal };
  const answer = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  expect(answer.statusCode).toBe(201);
  const { id, signal_count: count } = answer.json().data;
  expect(count).toBeGreaterThanOrEqual(60);
  expect(written).toHaveLength(1);
  expect(written[0]).toBeLessThan(5);

  const again = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  expect(again.json().data).toMatchObject({ id, signal_count: count });
  const list = await t.app.inject({ url: '/v1/signals?limit=100', headers: t.auth });
  expect(list.json().data).toHaveLength(count);
});
