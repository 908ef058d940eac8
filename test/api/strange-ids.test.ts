import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Document, OperationObject } from '../../src/http/openapi/schemas.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

/** Ids that nothing has: too long, of another kind, or special in a path or a pattern. */
const STRANGE = [
  'x'.repeat(65),
  `sig_${'1'.repeat(61)}`,
  'x'.repeat(2_000),
  '%00',
  '%F0%9F%98%80'.repeat(20),
  "'--",
  '%25',
  '..%2f..',
  'sig_',
];
const MEMBERS = /(^|_)ids?$/;

let t: TestApp;
let document: Document;
beforeAll(async () => {
  t = await buildTestApp({ plan: 'enterprise' });
  document = (await t.app.inject('/v1/openapi.json')).json();
});
afterAll(() => t.app.close());

/** The example body of an operation with every id replaced. */
function bodyOf(operation: OperationObject, id: string): object | undefined {
  const example = operation.requestBody?.content['application/json']?.example;
  if (example === undefined) return undefined;
  const text = JSON.stringify(example, (name, value) => {
    if (!MEMBERS.test(name) || name === 'external_id' || name === 'event_id') return value;
    return Array.isArray(value) ? [id] : typeof value === 'string' ? id : value;
  });
  return JSON.parse(text);
}

describe.each(STRANGE)('the id %s', (id) => {
  test('is 404 or 400 on every route with an id in its path', async () => {
    t.clock.advance(60_000);
    const wrong: string[] = [];
    for (const [path, item] of Object.entries(document.paths)) {
      if (!path.includes('{')) continue;
      for (const [method, operation] of Object.entries(item)) {
        const answer = await t.app.inject({
          method: method.toUpperCase() as 'GET',
          url: path.replace(/\{\w+\}/g, id),
          headers: t.auth,
          ...(bodyOf(operation, id) && { payload: bodyOf(operation, id) as object }),
        });
        if (![400, 404].includes(answer.statusCode)) {
          wrong.push(`${method} ${path}: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('causes no server error in any body or query', async () => {
    t.clock.advance(60_000);
    const wrong: string[] = [];
    for (const [path, item] of Object.entries(document.paths)) {
      if (path.includes('{')) continue;
      for (const [method, operation] of Object.entries(item)) {
        const named = (operation.parameters ?? []).flatMap((one) => ('name' in one ? [one.name] : []));
        const queries = named
          .filter((name) => /^(icp|cursor|.*_id)$/.test(name))
          .map((name) => `?${name}=${id}`);
        for (const query of ['', ...queries]) {
          const payload = bodyOf(operation, decodeURIComponent(id));
          const answer = await t.app.inject({
            method: method.toUpperCase() as 'GET',
            url: `${path}${query}`,
            headers: t.auth,
            ...(payload && { payload }),
          });
          if (answer.statusCode >= 500) wrong.push(`${method} ${path}${query}: ${answer.body.slice(0, 200)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});
