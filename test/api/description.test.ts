import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeBody } from '../../src/http/compression.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { type Description, readDescription } from '../support/openapi.ts';
import { createSchemaCheck } from '../support/schema-check.ts';

let t: TestApp;
let description: Description;
beforeAll(async () => {
  t = await buildTestApp();
  description = await readDescription(t.app);
});
afterAll(() => t.app.close());

const tags = () => (description.document.tags as { name: string }[]).map(({ name }) => name);

test('/v1 describes itself and links its documentation without a key', async () => {
  const answer = await t.app.inject('/v1');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({ 'x-api-version': 'v1', 'ratelimit-limit': '600' });
  expect(answer.json()).toEqual({
    data: {
      description: expect.stringMatching(/^Buying signals /),
      documentation: `${BASE_URL}/developers/signal-api`,
      openapi: `${BASE_URL}/v1/openapi.json`,
      operations: `${BASE_URL}/v1/operations`,
    },
  });
});

test.each([
  ['HEAD', '/v1', 200],
  ['OPTIONS', '/v1', 204],
  ['POST', '/v1', 405],
  ['GET', '/v1/', 404],
  ['GET', '/v1?x=1', 400],
  ['HEAD', '/v1/operations', 200],
  ['DELETE', '/v1/operations', 405],
])('%s %s is handled like any other path: %i', async (method, url, status) => {
  const answer = await t.app.inject({ method: method as 'GET', url });
  expect(answer.statusCode).toBe(status);
  if (status === 405 || status === 204) expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
  if (method === 'HEAD') expect(answer.headers['content-length']).toMatch(/^[1-9]\d+$/);
});

test('/v1/operations lists every documented operation, without a key', async () => {
  const { data } = (await t.app.inject('/v1/operations')).json();
  expect(data).toEqual(
    description.operations.map(({ method, path, summary, tags, scope, needsKey, operationId }) => ({
      method,
      path,
      summary,
      scope: needsKey ? (scope ?? 'any') : null,
      tag: tags?.[0],
      operation_id: operationId,
    })),
  );
  expect(data).toContainEqual(
    expect.objectContaining({ method: 'GET', path: '/v1/signals', scope: 'signals:read', tag: 'Signals' }),
  );
});

test('/v1/operations?tag= lists the operations of one tag', async () => {
  const { data } = (await t.app.inject('/v1/operations?tag=Keys')).json();
  expect(data.length).toBeGreaterThan(3);
  expect(new Set(data.map(({ tag }: { tag: string }) => tag))).toEqual(new Set(['Keys']));
});

test('the tagged parts contain each operation once and are self-contained', async () => {
  const seen: string[] = [];
  for (const tag of tags()) {
    const answer = await t.app.inject(`/v1/openapi.json?tag=${tag}`);
    const part = answer.json();
    expect(part.tags.map(({ name }: { name: string }) => name)).toEqual([tag]);
    const refs = new Set(
      [...answer.body.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, ref]) => ref),
    );
    const present = Object.entries(part.components as Record<string, object>)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, entries]) => Object.keys(entries).map((name) => `${kind}/${name}`));
    expect(present.sort()).toEqual([...refs].sort());
    expect(() => createSchemaCheck(part)({ $ref: '#/components/schemas/Problem' }, {})).not.toThrow();
    for (const [path, item] of Object.entries(part.paths as Record<string, object>)) {
      for (const method of Object.keys(item)) seen.push(`${method.toUpperCase()} ${path}`);
    }
  }
  const all = description.operations.map(({ method, path }) => `${method} ${path}`);
  expect(seen.sort()).toEqual(all.sort());
});

test('a part has its own ETag, and requesting it does not change the whole document', async () => {
  const [whole, part] = [
    await t.app.inject('/v1/openapi.json'),
    await t.app.inject('/v1/openapi.json?tag=Leads'),
  ];
  expect(part.headers.etag).not.toBe(whole.headers.etag);
  expect(part.body.length).toBeLessThan(whole.body.length / 3);
  expect((await t.app.inject('/v1/openapi.json')).body).toBe(whole.body);
  const again = await t.app.inject({
    url: '/v1/openapi.json?tag=Leads',
    headers: { 'if-none-match': String(part.headers.etag) },
  });
  expect([again.statusCode, again.body]).toEqual([304, '']);
});

test('a slice contains one operation with its components, at a fraction of the size', async () => {
  const whole = (await t.app.inject('/v1/openapi.json')).body.length;
  for (const { operation_id, path, method } of (await t.app.inject('/v1/operations')).json().data) {
    const answer = await t.app.inject(`/v1/openapi.json?operation=${operation_id}`);
    const part = answer.json();
    expect(Object.keys(part.paths)).toEqual([path]);
    expect(Object.keys(part.paths[path])).toEqual([method.toLowerCase()]);
    expect(answer.body.length).toBeLessThan(whole / 5);
    expect(() => createSchemaCheck(part)({ $ref: '#/components/schemas/Problem' }, {})).not.toThrow();
  }
  const unknown = await t.app.inject('/v1/openapi.json?operation=createSignl');
  expect(unknown.statusCode).toBe(400);
  expect(unknown.json().detail).toContain('did you mean "createSignal"');
});

test('a slice is compressed at the cost of a response that is sent once: it is not kept', async () => {
  const url = '/v1/openapi.json?operation=createLeads';
  const plain = await t.app.inject(url);
  for (const coding of ['br', 'gzip'] as const) {
    const coded = await t.app.inject({ url, headers: { 'accept-encoding': coding } });
    expect(coded.headers['content-encoding']).toBe(coding);
    expect(coded.rawPayload.equals(await encodeBody(plain.rawPayload, coding, 'once'))).toBe(true);
  }
});

test.each(['leads', 'Nothing', ''])('the tag "%s" is rejected with the list of tags', async (tag) => {
  for (const path of ['/v1/openapi.json', '/v1/operations']) {
    const answer = await t.app.inject(`${path}?tag=${tag}`);
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'INVALID_REQUEST']);
    for (const name of tags()) expect(answer.json().errors[0].detail).toContain(`"${name}"`);
  }
});
