import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditEntry } from '../../src/model/audit.ts';
import { createGuide, type Visit } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { sendTestToNobody } from '../support/fake-receiver.ts';

/** These change nothing: drafts and previews are not stored, and the test delivery goes to a stand-in. */
const NO_CHANGES = ['draftIcp', 'previewIcp', 'previewPayloadFormat', 'testWebhook'];

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, sendTest: sendTestToNobody });
});
afterAll(() => t.app.close());

async function entries(): Promise<AuditEntry[]> {
  const query = { actor: null, action: null, from: null, to: null, limit: 1_000, after: null };
  return (await t.store.pageAudit(t.tenant.id, query)).rows;
}

test('every change made with a key is audited with the key, the time and the subject', async () => {
  const guide = createGuide(t);
  const told = new Set<string>();
  const untold = new Set<string>();
  const changes = async () => (await entries()).reduce((sum, { count }) => sum + count, 0);
  const visit: Visit = async (operationId, target, ...rest) => {
    const before = await changes();
    const answer = await guide.visit(operationId, target, ...rest);
    const isTold = (await changes()) > before;
    if (target.startsWith('GET')) expect([operationId, isTold]).toEqual([operationId, false]);
    else (isTold ? told : untold).add(operationId);
    return answer;
  };
  await visitEverything({ ...guide, visit });
  for (const [operationId, path] of [
    ['eraseLead', '/v1/leads'],
    ['deleteSource', '/v1/sources'],
    ['deleteWebhook', '/v1/webhooks'],
    ['deleteIcp', '/v1/icps'],
    ['revokeKey', '/v1/keys'],
  ] as const) {
    const { data } = (await t.app.inject({ url: path, headers: t.auth })).json();
    await visit(operationId, `DELETE ${path}/${data.at(-1).id}`);
  }
  expect([...untold].filter((operation) => !told.has(operation)).sort()).toEqual(NO_CHANGES);
  expect(told.size).toBeGreaterThan(25);
  const own = (await t.store.listKeys(t.tenant.id)).find(({ name }) => name === 'First key');
  expect(new Set((await entries()).map(({ actor }) => actor))).toEqual(new Set([own?.id]));
  expect((await entries()).every(({ subject }) => /^[a-z]{3}_\w{25}$/.test(subject))).toBe(true);
});

test('bulk posts make one entry an hour, and a replayed request makes no further entry', async () => {
  const { auth, id } = await t.addKey({ scopes: ['signals:write'] });
  const headers = { ...auth, 'idempotency-key': 'once' };
  const signals = [1, 2, 3].map((n) => aPost({ text: `Looking for a CRM, budget ${n}00 dollars a month.` }));
  for (const { text } of signals) {
    const payload = aPost({ text, external_id: text });
    await t.app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
  }
  const request = { method: 'POST', url: '/v1/signals/batch', headers, payload: { signals } } as const;
  expect((await t.app.inject(request)).statusCode).toBe(200);
  expect((await t.app.inject(request)).headers['idempotent-replayed']).toBe('true');
  const own = (await entries()).filter(({ actor }) => actor === id);
  expect(own).toMatchObject([{ action: 'signal.create' }]);
  t.clock.advance(3_600_000);
  const payload = aPost({ external_id: 'later' });
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
  expect((await entries()).filter(({ actor }) => actor === id)).toHaveLength(2);
});
