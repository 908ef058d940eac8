import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { signalSchema } from '../../src/model/signal.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

function post(payload: object, url = '/v1/signals') {
  return t.app.inject({ method: 'POST', url, headers: t.auth, payload });
}

test('a new post returns 201 with its signals, and the same post again 200 with the same ones', async () => {
  const first = await post(aPost());
  expect(first.statusCode).toBe(201);
  expect(first.json().data.status).toBe('created');
  const [signal] = first.json().data.signals;
  expect(signalSchema.parse(signal)).toEqual(signal);
  expect(first.headers.location).toBe(`https://signals.example.com/v1/signals/${signal.signal_id}`);

  const again = await post(aPost());
  expect(again.statusCode).toBe(200);
  expect(again.json().data).toEqual({ status: 'duplicate', signals: [signal] });
});

test('an unknown profile is rejected with its pointer', async () => {
  const answer = await post(aPost({ icp_profile_id: 'icp_none' }));
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '/icp_profile_id' }] });
});

test('the dispatcher is notified of new work once, and not for a duplicate', async () => {
  const made = await post({ url: 'http://127.0.0.1:9/hook' }, '/v1/webhooks');
  const lane = { endpointId: made.json().data.id, tenantId: t.tenant.id };
  await post(aPost());
  expect(t.nudged).toContainEqual(lane);
  const heard = t.nudged.length;
  await post(aPost());
  expect(t.nudged).toHaveLength(heard);
});

test('each post of a batch gets its own result', async () => {
  await post(aPost());
  const answer = await post(
    {
      signals: [
        aPost({ platform: { name: 'hn' }, external_id: 'a' }),
        { text: 'x', platfrom: {} },
        aPost(),
        aPost({ icp_profile_id: 'icp_none' }),
        aPost({ text: 'a\0b' }),
        null,
      ],
    },
    '/v1/signals/batch',
  );
  expect(answer.statusCode).toBe(200);
  const { results, ...counts } = answer.json().data;
  expect(counts).toEqual({ created: 1, duplicates: 1, rejected: 4 });
  expect(results.map((r: { index: number; status: string }) => [r.index, r.status])).toEqual([
    [0, 'created'],
    [1, 'rejected'],
    [2, 'duplicate'],
    [3, 'rejected'],
    [4, 'rejected'],
    [5, 'rejected'],
  ]);
  expect(results[0]).toMatchObject({ signal_ids: [expect.stringMatching(/^sig_/)], errors: [] });
  expect(results[1].errors.map((e: { pointer: string }) => e.pointer)).toEqual([
    '/signals/1/platform',
    '/signals/1/platfrom',
  ]);
  expect(results[3].errors[0].pointer).toBe('/signals/3/icp_profile_id');
  expect(results[4].errors[0].pointer).toBe('/signals/4/text');
  expect(results[5].errors[0].pointer).toBe('/signals/5');
});

test('a batch has 1 to 500 posts', async () => {
  const full = Array.from({ length: 501 }, () => aPost());
  expect((await post({ signals: full }, '/v1/signals/batch')).json()).toMatchObject({
    status: 400,
    errors: [{ pointer: '/signals', detail: expect.stringContaining('at most 500') }],
  });
  expect((await post({ signals: [] }, '/v1/signals/batch')).statusCode).toBe(400);
  expect((await post({ signals: full.slice(1) }, '/v1/signals/batch')).statusCode).toBe(200);
});

test('the response to a post with many signals is encoded signal by signal', async () => {
  for (let n = 0; n < 9; n++) {
    const profile = { name: `P${n}`, phrases: ['booking system'], thresholds: { hot: 99, warm: 1 } };
    expect((await post(profile, '/v1/icps')).statusCode).toBe(201);
  }
  const encoded = vi.spyOn(Buffer, 'from');
  onTestFinished(() => void encoded.mockRestore());
  const facts = { prospect: { name: '\u6f22'.repeat(300) }, company: { name: '\u5b57'.repeat(300) } };
  const answer = await post(aPost({ text: 'We need a booking system.', ...facts }));
  const [longest] = encoded.mock.calls
    .map(([given]: unknown[]) => (typeof given === 'string' ? given.length : 0))
    .sort((a, b) => b - a);
  const { signals } = answer.json().data;
  expect(signals.length).toBeGreaterThan(8);
  expect(answer.body.length).toBeGreaterThan(8 * JSON.stringify(signals[0]).length);
  expect(longest).toBeLessThan(2 * JSON.stringify(signals[0]).length);
});
