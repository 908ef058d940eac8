import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../../support/app.ts';
import { type Description, type Operation, readDescription } from '../../support/openapi.ts';

let t: TestApp;
let description: Description;
beforeAll(async () => {
  t = await buildTestApp();
  description = await readDescription(t.app);
});
afterAll(() => t.app.close());

/** Lists the operations that break a rule, one line each with the reason. */
function faults(rule: (operation: Operation) => string | null): string[] {
  return description.operations.flatMap((operation) => {
    const fault = rule(operation);
    return fault === null ? [] : [`${operation.method} ${operation.path}: ${fault}`];
  });
}

test('is public OpenAPI 3.1 with an absolute server URL', async () => {
  const answer = await t.app.inject('/v1/openapi.json');
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['ratelimit-limit']).toBe('600');
  expect(answer.headers['access-control-allow-origin']).toBe('*');
  expect(answer.json()).toMatchObject({
    openapi: '3.1.0',
    info: { version: '1.0.0' },
    servers: [{ url: 'https://signals.example.com' }],
  });
});

test('is sent again only when it has changed', async () => {
  const { headers } = await t.app.inject('/v1/openapi.json');
  const again = await t.app.inject({
    url: '/v1/openapi.json',
    headers: { 'if-none-match': String(headers.etag) },
  });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  expect(again.headers.etag).toBe(headers.etag);
  const other = await t.app.inject({ url: '/v1/openapi.json', headers: { 'if-none-match': '"other"' } });
  expect(other.statusCode).toBe(200);
});

describe('every route', () => {
  test('has a unique operationId', () => {
    expect(faults(({ operationId }) => (operationId === '' ? 'add schema.operationId' : null))).toEqual([]);
    const ids = description.operations.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('has a summary', () => {
    expect(faults(({ summary }) => (summary === undefined ? 'add schema.summary' : null))).toEqual([]);
  });

  test('has a tag that the document describes', () => {
    const known = (description.document.tags as { name: string }[]).map(({ name }) => name);
    const ok = (tags: string[] = []) => tags.length > 0 && tags.every((tag) => known.includes(tag));
    expect(faults(({ tags }) => (ok(tags) ? null : `add schema.tags, of ${known.join(', ')}`))).toEqual([]);
  });

  test('describes its successful response with a schema', () => {
    expect(
      faults(({ answers }) => {
        const successes = Object.entries(answers).filter(([status]) => /^2\d\d$/.test(status));
        if (successes.length === 0) return 'add schema.response with a 2xx schema';
        const bare = successes.find(([status, { content }]) => content === undefined && status !== '204');
        return bare === undefined ? null : `add a schema of the answer ${bare[0]}`;
      }),
    ).toEqual([]);
  });

  test('describes each of its path parameters', () => {
    expect(
      faults(({ path, parameters }) => {
        const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const missing = names.filter(
          (name) => !parameters.some((one) => one.in === 'path' && one.name === name),
        );
        return missing.length === 0 ? null : `add schema.params with ${missing.join(', ')}`;
      }),
    ).toEqual([]);
  });

  test('rejects an unknown query parameter', async () => {
    const refusals: string[] = [];
    for (const { method, path, body: described } of description.operations) {
      const url = `${path.replaceAll(/\{\w+\}/g, 'x')}?no_such_parameter=1`;
      // The body is validated before the query, so it has to be valid.
      const body = described === null ? {} : { payload: described.example as object };
      const answer = await t.app.inject({ method: method as 'GET', url, headers: t.auth, ...body });
      const { code = 'none', errors = [] } = answer.json();
      const named = errors.some((one: { parameter?: string }) => one.parameter === 'no_such_parameter');
      if (!named) refusals.push(`${method} ${path}: add a strict schema.querystring (${code})`);
    }
    expect(refusals).toEqual([]);
  });
});

describe('every response', () => {
  const COMMON = [
    'X-Request-Id',
    'X-API-Version',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'RateLimit-Policy',
    'RateLimit',
  ];

  test('has the headers that all responses carry', () => {
    expect(
      faults(({ answers }) => {
        const bare = Object.entries(answers).find(([, { headers }]) =>
          COMMON.some((name) => !(name in headers)),
        );
        return bare === undefined ? null : `${bare[0]} lacks a header`;
      }),
    ).toEqual([]);
  });

  test('that is not a success is a problem document', () => {
    expect(
      faults(({ answers }) => {
        const other = Object.entries(answers).find(
          ([status, { content }]) =>
            Number(status) >= 400 && content?.['application/problem+json'] === undefined,
        );
        return other === undefined ? null : `${other[0]} is none`;
      }),
    ).toEqual([]);
  });

  test('is described if it follows from the input and the requirements of the route', () => {
    expect(
      faults(({ answers, method, needsKey, scope, path }) => {
        const expected = [
          ...['400', '429', '500', '503'],
          ...(needsKey ? ['401'] : []),
          ...(scope === null ? [] : ['403']),
          ...(path.includes('{') ? ['404'] : []),
          ...(method === 'POST' ? ['409', '413', '415', '422'] : []),
        ];
        const missing = expected.filter((status) => answers[status] === undefined);
        return missing.length === 0 ? null : `lacks ${missing.join(', ')}`;
      }),
    ).toEqual([]);
  });
});

test('every POST accepts an Idempotency-Key, and nothing else does', () => {
  expect(
    faults(({ method, parameters }) => {
      const takes = parameters.some((one) => one.in === 'header' && one.name === 'Idempotency-Key');
      return takes === (method === 'POST') ? null : 'Idempotency-Key';
    }),
  ).toEqual([]);
});

test('every component is used, and every reference resolves', () => {
  const text = JSON.stringify(description.document);
  const refs = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, ref]) => ref));
  const components = description.document.components as Record<string, object>;
  const present = Object.entries(components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, entries]) => Object.keys(entries).map((name) => `${kind}/${name}`));
  expect(present.sort()).toEqual([...refs].sort());
});
