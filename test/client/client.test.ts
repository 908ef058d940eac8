import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import {
  type Client,
  type ClientOptions,
  createClient,
  type Signal,
  SignalpostError,
} from '../../src/client/client.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { CLIENT_FILE, clientTypes } from '../support/client-types.ts';
import { servedOpenApi } from '../support/openapi-files.ts';

let t: TestApp;
let baseUrl: string;
beforeAll(async () => {
  t = await buildTestApp();
  await t.app.listen({ host: '127.0.0.1', port: 0 });
  baseUrl = `http://127.0.0.1:${(t.app.server.address() as AddressInfo).port}`;
});
afterAll(() => t.app.close());

const clientWith = (options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl, apiKey: t.apiKey, sleep: async () => undefined, ...options });

test('its types match the description', async () => {
  const made = clientTypes(JSON.parse(await servedOpenApi('/v1/openapi.json')));
  expect(readFileSync(CLIENT_FILE, 'utf8')).toBe(made);
});

describe('against a server', () => {
  test('accepts bodies, path and query parameters, and returns the content of data', async () => {
    const client = clientWith();
    const me = await client.getMe();
    expect(me.tenant.id).toBe(t.tenant.id);
    const { signals } = await client.createSignal({ body: aPost({ external_id: 'c1' }) });
    const id = signals[0]?.signal_id ?? '';
    const signal = await client.getSignal({ id });
    expect(signal.external_id).toBe('c1');
    expectTypeOf(signal.icp_score).toBeNumber();
    await client.giveSignalFeedback({ id, body: { relevant: true } });
    expect(await client.deleteSignal({ id })).toBeUndefined();
    await expect(client.getSignal({ id })).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  test('lists can be iterated across all pages, or read page by page', async () => {
    const client = clientWith();
    for (let i = 0; i < 5; i++) {
      await client.createSignal({ body: aPost({ external_id: `l${i}`, text: `${aPost().text} ${i}` }) });
    }
    const seen: (string | null)[] = [];
    const list = client.listSignals({ limit: 2, platform: ['reddit', 'other'], sort: 'timestamp' });
    for await (const signal of list) {
      expectTypeOf(signal.signal_id).toBeString();
      seen.push(signal.external_id);
    }
    expect(seen.sort()).toEqual(['l0', 'l1', 'l2', 'l3', 'l4']);
    const page = await list.page();
    expect(page.data).toHaveLength(2);
    expect(page.pagination.has_more).toBe(true);
    let pages = 0;
    for await (const each of list.pages()) pages += each.data.length > 0 ? 1 : 0;
    expect(pages).toBe(3);
    expectTypeOf<Signal['classification']>().toEqualTypeOf<'hot' | 'warm' | 'cold'>();
  });

  test('a problem is thrown as an error with code, field errors and request ID', async () => {
    const error = await clientWith()
      .createSignal({ body: { platform: { name: 'reddit' }, text: '' } })
      .catch((each: unknown) => each);
    expect(error).toBeInstanceOf(SignalpostError);
    expect(error).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ pointer: '/text' }] });
    expect((error as SignalpostError).requestId).toMatch(/^req_/);
  });
});

describe('temporary failures are retried', () => {
  /** Gives these responses in turn; records the requests and waits. */
  function scripted(answers: (Response | Error)[], options: Partial<ClientOptions> = {}) {
    const requests: { url: string; key: string | null }[] = [];
    const waits: number[] = [];
    const client = clientWith({
      random: () => 0,
      sleep: async (ms) => void waits.push(ms),
      fetch: async (url, init) => {
        requests.push({ url: String(url), key: new Headers(init?.headers).get('idempotency-key') });
        const next = answers.shift();
        if (next instanceof Error) throw next;
        return next ?? Response.json({ data: { ok: true } });
      },
      ...options,
    });
    return { client, requests, waits };
  }
  const busy = (status: number, headers: Record<string, string> = {}, code = 'UNAVAILABLE') =>
    Response.json({ code, detail: 'later' }, { status, headers });

  test('after no response, 429 and 503, no earlier than Retry-After says, with the same idempotency key', async () => {
    const { client, requests, waits } = scripted([
      new TypeError('fetch failed'),
      busy(429, { 'retry-after': '7' }),
      busy(503),
    ]);
    await client.createLead({ body: { email: 'a@example.com' } });
    expect(waits).toEqual([500, 7_000, 2_000]);
    expect(requests).toHaveLength(4);
    expect(requests[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(requests.map(({ key }) => key)).size).toBe(1);
  });

  test('while the first request with its key is still running', async () => {
    const { client, requests } = scripted([busy(409, { 'retry-after': '1' }, 'IDEMPOTENCY_IN_FLIGHT')]);
    await client.createLead({ body: { email: 'a@example.com' } }, { idempotencyKey: 'mine' });
    expect(requests.map(({ key }) => key)).toEqual(['mine', 'mine']);
  });

  test('at most three times, and not at all if they would fail again', async () => {
    const tired = scripted(Array.from({ length: 9 }, () => busy(503)));
    await expect(tired.client.getMe()).rejects.toMatchObject({ status: 503 });
    expect(tired.requests).toHaveLength(4);
    const refused = scripted([busy(422, {}, 'INVALID_TRANSITION')]);
    await expect(refused.client.getMe()).rejects.toMatchObject({ code: 'INVALID_TRANSITION' });
    expect(refused.requests).toHaveLength(1);
  });

  test('not after the caller has aborted', async () => {
    const abort = new AbortController();
    const { client, requests } = scripted([], {
      fetch: async () => {
        abort.abort();
        throw new Error('aborted');
      },
    });
    await expect(client.getMe({}, { signal: abort.signal })).rejects.toThrow('aborted');
    expect(requests).toHaveLength(0);
  });
});
