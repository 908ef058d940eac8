import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Document, JsonSchema, OperationObject } from '../../../src/http/openapi/schemas.ts';
import { buildTestApp, type TestApp } from '../../support/app.ts';

let t: TestApp;
let document: Document;
let operations: OperationObject[];
beforeAll(async () => {
  t = await buildTestApp();
  document = (await t.app.inject('/v1/openapi.json')).json();
  operations = Object.values(document.paths).flatMap((item) => Object.values(item));
});
afterAll(() => t.app.close());

/** Returns every schema reachable from a node, with a path that names it. */
function schemasBelow(node: unknown, place: string, seen = new Set<unknown>()): [string, JsonSchema][] {
  if (typeof node !== 'object' || node === null || seen.has(node)) return [];
  seen.add(node);
  const found: [string, JsonSchema][] = [[place, node as JsonSchema]];
  for (const [key, child] of Object.entries(node)) {
    if (key === 'example' || key === 'examples') continue;
    const ref = key === '$ref' && typeof child === 'string' ? child.split('/').slice(1) : null;
    const target = ref === null ? child : ref.reduce((at, name) => Reflect.get(at, name), document as object);
    for (const one of schemasBelow(target, `${place}/${key}`, seen)) found.push(one);
  }
  return found;
}

test('responses and webhooks can get new members: none of their schemas is closed', () => {
  const received = [...operations.map(({ operationId, responses }) => [operationId, responses] as const)];
  for (const [name, { post }] of Object.entries(document.webhooks ?? {}))
    received.push([name, post.requestBody as never]);
  const closed = received.flatMap(([name, node]) =>
    schemasBelow(node, String(name)).flatMap(([place, schema]) =>
      schema.additionalProperties === false ? [place] : [],
    ),
  );
  expect(closed).toEqual([]);
});

test('request schemas are closed, as in validation', () => {
  for (const { operationId, requestBody } of operations) {
    const schemas = schemasBelow(requestBody?.content, String(operationId));
    const objects = schemas.filter(
      ([, schema]) => [schema.type].flat().includes('object') && schema.properties,
    );
    for (const [place, schema] of objects)
      expect([place, schema.additionalProperties]).toEqual([place, false]);
  }
});

test('every body and every list item is a named component', () => {
  const refs: Record<string, unknown> = {};
  for (const { operationId = '', requestBody, responses } of operations) {
    const sent = requestBody?.content['application/json']?.schema;
    if (sent !== undefined) refs[operationId] = sent.$ref;
    const answer = responses['200'];
    const shown = answer && 'content' in answer ? answer.content?.['application/json']?.schema : undefined;
    const { data, pagination } = (shown?.properties ?? {}) as Record<string, JsonSchema>;
    if (pagination !== undefined) refs[operationId] = ((data?.items ?? {}) as JsonSchema).$ref;
  }
  expect(Object.entries(refs).filter(([, ref]) => typeof ref !== 'string')).toEqual([]);
  const names = (...ids: string[]) => ids.map((id) => String(refs[id]).split('/').at(-1));
  expect(
    names('createWebhook', 'updateWebhook', 'createLead', 'createSignal', 'moveLead', 'listSignals'),
  ).toEqual(['NewWebhook', 'WebhookUpdate', 'NewLead', 'ObservedPost', 'MoveLeadRequest', 'ListedSignal']);
});

test('optional body members have no schema default, which generators would treat as always present', () => {
  for (const { operationId, requestBody } of operations) {
    for (const [place, schema] of schemasBelow(requestBody?.content, String(operationId))) {
      expect([place, Object.hasOwn(schema, 'default') && place.includes('/properties/')]).toEqual([
        place,
        false,
      ]);
    }
  }
  const lead = document.components.schemas?.NewLead as {
    required?: string[];
    properties: Record<string, JsonSchema>;
  };
  expect(lead.required ?? []).toEqual([]);
  expect(lead.properties.tags?.description).toContain('Default: `[]`');
});

test('enumerations in problems declare their type', () => {
  const untyped = schemasBelow(document.components.responses, 'responses').filter(
    ([, schema]) => Array.isArray(schema.enum) && schema.type === undefined,
  );
  expect(untyped.map(([place]) => place)).toEqual([]);
});

test('facts about people, companies and posts are strings that may be empty, never null', () => {
  const facts = ['Signal', 'Lead', 'Company'].flatMap((name) => {
    const schema = (document.components.schemas?.[name] ?? {}) as JsonSchema;
    const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
    const own = Object.entries(properties);
    const nested = own.flatMap(([member, { properties: inner = {} }]) =>
      ['prospect', 'company', 'platform'].includes(member) ? Object.entries(inner as typeof properties) : [],
    );
    const ofPerson = [
      'name',
      'first_name',
      'last_name',
      'email',
      'linkedin_url',
      'title',
      'excerpt',
      'industry',
    ];
    return [...nested, ...own.filter(([member]) => ofPerson.includes(member))].map(
      ([member, { type }]) => [`${name}.${member}`, type] as const,
    );
  });
  expect(facts.length).toBeGreaterThan(20);
  expect(facts.filter(([, type]) => type !== 'string')).toEqual([]);
});
