import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { KEY_LIFE_MS } from '../../src/http/idempotency.ts';
import { DomainError } from '../../src/model/errors.ts';
import type { OpenedStore } from '../../src/store/store.ts';
import { aPost, buildTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';

let t: TestApp;
beforeEach(() => open());
afterEach(() => t.app.close());

async function open(options: TestAppOptions = {}) {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, ...options });
}

async function reopen(wrapStore: (store: OpenedStore) => OpenedStore) {
  await t.app.close();
  await open({ wrapStore });
}

/** Sends immediately: a request made with `inject` is not sent until it is awaited. */
async function post(
  url: string,
  payload: object | string,
  key: string,
  headers: Record<string, string> = t.auth,
) {
  const sent = { ...headers, 'idempotency-key': key, 'content-type': 'application/json' };
  return t.app.inject({ method: 'POST', url, headers: sent, payload });
}

const postSignal = (key: string, text = 'Looking for a CRM', headers = t.auth) =>
  post('/v1/signals', { platform: { name: 'reddit' }, text }, key, headers);

const createWebhook = (key: string, headers = t.auth) =>
  post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook' }, key, headers);

async function countSignals(): Promise<number> {
  const { data } = (await t.app.inject({ url: '/v1/signals?limit=100', headers: t.auth })).json();
  return data.length;
}

test('the same key and body replay the first response without side effects', async () => {
  const first = await postSignal('k1');
  t.clock.advance(1_000);
  const second = await postSignal('k1');
  expect(first.statusCode).toBe(201);
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  expect(second.statusCode).toBe(201);
  expect(second.body).toBe(first.body);
  expect(second.headers['content-type']).toBe(first.headers['content-type']);
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
  expect(await countSignals()).toBe(1);
});

test('a retry whose members are in another order is the same request', async () => {
  const first = await post('/v1/signals', '{"platform":{"name":"reddit"},"text":"Looking for a CRM"}', 'k1');
  const second = await post(
    '/v1/signals',
    '{ "text": "Looking for a CRM", "platform": {"name":"reddit"} }',
    'k1',
  );
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect(second.body).toBe(first.body);
});

test('the same key with another body is rejected, even an invalid one', async () => {
  await postSignal('k1');
  for (const answer of [await postSignal('k1', 'Something else'), await post('/v1/signals', {}, 'k1')]) {
    expect(answer.statusCode).toBe(422);
    expect(answer.json().code).toBe('IDEMPOTENCY_MISMATCH');
  }
  expect(await countSignals()).toBe(1);
});

test('a key is scoped to one tenant and one route', async () => {
  const other = await t.addTenant();
  expect((await postSignal('k1')).statusCode).toBe(201);
  expect((await postSignal('k1', 'Another text', other.auth)).statusCode).toBe(201);
  const hook = await createWebhook('k1');
  expect(hook.statusCode).toBe(201);
  expect(hook.headers['idempotent-replayed']).toBeUndefined();
});

test('a replay keeps the Location header and omits the secret', async () => {
  const first = await createWebhook('k1');
  const second = await createWebhook('k1');
  expect(first.json().data.secret).toMatch(/^whsec_/);
  expect(second.json().data).toEqual({ ...first.json().data, secret: null });
  expect(second.headers.location).toBe(first.headers.location);
});

test('fifty parallel requests with one key create one resource', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => createWebhook('k1')));
  const made = answers.filter((answer) => answer.statusCode === 201);
  const refused = answers.filter((answer) => answer.statusCode === 409);
  expect(made.length).toBeGreaterThanOrEqual(1);
  expect(made.length + refused.length).toBe(50);
  expect(new Set(made.map((answer) => answer.json().data.id)).size).toBe(1);
  expect(await t.store.listEndpoints(t.tenant.id)).toHaveLength(1);
  for (const answer of refused) {
    expect(answer.json().code).toBe('IDEMPOTENCY_IN_FLIGHT');
    expect(answer.headers['retry-after']).toBe('1');
  }
});

test('a key can be reused after 24 hours', async () => {
  await postSignal('k1');
  t.clock.advance(KEY_LIFE_MS - 1);
  expect((await postSignal('k1')).headers['idempotent-replayed']).toBe('true');
  t.clock.advance(1);
  const later = await postSignal('k1', 'Another text');
  expect(later.statusCode).toBe(201);
  expect(later.headers['idempotent-replayed']).toBeUndefined();
});

test('an error is not stored: the corrected request runs under the same key', async () => {
  const refused = await post('/v1/signals', { platform: { name: 'reddit' } }, 'k1');
  expect(refused.statusCode).toBe(400);
  expect((await postSignal('k1')).statusCode).toBe(201);
});

test('a request without the scope neither uses a key nor sees its response', async () => {
  await postSignal('k1');
  const reader = await t.addKey({ scopes: ['signals:read'] });
  expect((await postSignal('k1', undefined, reader.auth)).statusCode).toBe(403);
});

test('without a key every request is new', async () => {
  const send = () => t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost() });
  expect((await send()).statusCode).toBe(201);
  expect((await send()).headers['idempotent-replayed']).toBeUndefined();
});

test('no stored response contains an erased person, and its key can be reused', async () => {
  const person = { name: 'Ann Lee', email: 'ann@example.com' };
  const first = await post('/v1/leads', person, 'k1');
  const { id } = first.json().data;
  await postSignal('k2');
  await t.app.inject({ method: 'DELETE', url: `/v1/leads/${id}`, headers: t.auth });
  expect((await postSignal('k2')).headers['idempotent-replayed']).toBe('true');
  const second = await post('/v1/leads', person, 'k1');
  expect(second.headers['idempotent-replayed']).toBeUndefined();
  expect(second.body).not.toContain(id);
});

describe('a key', () => {
  test.each(['', 'with space', 'ü', 'x'.repeat(256), 'tab\there'])('cannot be %j', async (key) => {
    const answer = await postSignal(key);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({
      code: 'INVALID_REQUEST',
      errors: [{ parameter: 'Idempotency-Key', detail: expect.stringContaining('1 to 255') }],
    });
  });

  test.each(['!', '~', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'x'.repeat(255)])(
    'can be %j',
    async (key) => {
      expect((await postSignal(key)).statusCode).toBe(201);
    },
  );
});

describe('when the first request is still running', () => {
  /** Holds back every signal commit until released. */
  async function stall() {
    const told = Promise.withResolvers<void>();
    await reopen((store) => ({
      ...store,
      keeping(held) {
        const kept = store.keeping(held);
        return { ...kept, commitSignals: (signals) => told.promise.then(() => kept.commitSignals(signals)) };
      },
    }));
    return told.resolve;
  }

  test('is still running, the second one gets 409 with Retry-After', async () => {
    const goOn = await stall();
    const first = postSignal('k1');
    const second = await postSignal('k1');
    expect(second.statusCode).toBe(409);
    expect(second.json().code).toBe('IDEMPOTENCY_IN_FLIGHT');
    expect(second.headers['retry-after']).toBe('1');
    expect((await postSignal('k1', 'Another text')).json().code).toBe('IDEMPOTENCY_MISMATCH');
    goOn();
    expect((await first).statusCode).toBe(201);
    expect((await postSignal('k1')).headers['idempotent-replayed']).toBe('true');
  });
});

describe('when the storage fails', () => {
  test('before the request runs, nothing is changed', async () => {
    await reopen((store) => ({
      ...store,
      reserveKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'full')),
    }));
    expect((await postSignal('k1')).statusCode).toBe(503);
    expect(await countSignals()).toBe(0);
  });

  test('after the request has run, the client still gets the success', async () => {
    await reopen((store) => ({
      ...store,
      answerKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'full')),
    }));
    expect((await postSignal('k1')).statusCode).toBe(201);
    expect(t.logLines.join()).toContain('idempotency key not settled');
  });

  test('while the request runs, the key can be reused', async () => {
    let fails = true;
    await reopen((store) => ({
      ...store,
      keeping(held) {
        const kept = store.keeping(held);
        const full = () => Promise.reject(new DomainError('UNAVAILABLE', 'full'));
        return fails ? { ...kept, commitSignals: full } : kept;
      },
    }));
    expect((await postSignal('k1')).statusCode).toBe(503);
    fails = false;
    expect((await postSignal('k1')).statusCode).toBe(201);
  });
});

test('others take turns while a large body is identified', async () => {
  const posts = Array.from({ length: 500 }, (_, i) => ({ text: `${i} ${'x'.repeat(1_000)}` }));
  let elapsed = 0;
  const measured = [
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed),
    vi.spyOn(t.clock, 'monotonic').mockImplementation(() => (elapsed += 10)),
  ];
  onTestFinished(() => {
    for (const each of measured) each.mockRestore();
  });
  const reserve = vi.spyOn(t.store, 'reserveKey');
  let turns = 0;
  const beat = () => {
    turns++;
    if (reserve.mock.calls.length === 0) setImmediate(beat);
  };
  setImmediate(beat);
  await post('/v1/signals/batch', { signals: posts }, 'k1');
  expect(turns).toBeGreaterThan(100);
});
