import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../../support/app.ts';
import { OPENAPI_FILES, servedOpenApi } from '../../support/openapi-files.ts';

interface Operation {
  operationId: string;
  security: unknown;
  responses: Record<string, Answer | { $ref: string }>;
}
interface Answer {
  headers: Record<string, unknown>;
  content: Record<string, Media>;
}
interface Media {
  schema: { $ref: string };
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}
interface Document {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  paths: Record<string, { get: Operation }>;
  components: { schemas: Record<string, object>; responses: Record<string, Answer> };
  'x-webhooks': unknown;
}

let t: TestApp;
let document: Document;
beforeEach(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '3' } });
  document = (await t.app.inject('/openapi.json')).json();
});
afterEach(() => t.app.close());

const PATHS = ['/api/health', '/api/v1/status', '/api/{unknown}'];
const EVERY = [
  'X-API-Version',
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
];

const operations = () => PATHS.map((path) => document.paths[path]?.get as Operation);

function answersOf({ responses }: Operation): [string, Answer][] {
  return Object.entries(responses).map(([status, answer]) => {
    if (!('$ref' in answer)) return [status, answer];
    const name = answer.$ref.split('/').at(-1) ?? '';
    return [status, document.components.responses[name] as Answer];
  });
}

/** Validates with the document's own schemas, like a generated client would. */
function validator() {
  const ajv = formats.default(new Ajv({ strict: false }));
  ajv.addSchema({ $id: 'doc', components: { schemas: document.components.schemas } });
  return (ref: string, value: unknown) => {
    const validate = ajv.getSchema(`doc${ref}`);
    if (validate === undefined) throw new Error(`${ref} does not resolve`);
    return validate(value) ? [] : validate.errors;
  };
}

test('is OpenAPI 3.0.3 of version 1.0.0, with no webhooks', () => {
  expect(document.openapi).toBe('3.0.3');
  expect(document.info.version).toBe('1.0.0');
  expect(document['x-webhooks']).toEqual({});
  expect(document.servers).toEqual([{ url: 'https://signals.example.com' }]);
});

test('describes three operations, each with a unique ID and empty security', () => {
  expect(Object.keys(document.paths)).toEqual(PATHS);
  expect(new Set(operations().map(({ operationId }) => operationId)).size).toBe(3);
  for (const { security } of operations()) expect(security).toEqual([]);
});

test('describes success and every error of each operation with a schema, an example and headers', () => {
  expect(operations().map((operation) => answersOf(operation).map(([status]) => status))).toEqual([
    ['200', '405', '429'],
    ['200', '405', '429'],
    ['404', '405', '429'],
  ]);
  const validate = validator();
  for (const [status, { headers, content }] of operations().flatMap(answersOf)) {
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(EVERY));
    if (status === '429') expect(headers).toHaveProperty('Retry-After');
    if (status === '405') expect(headers).toHaveProperty('Allow');
    const [[type, media]] = Object.entries(content) as [[string, Media]];
    expect(type).toBe(status === '200' ? 'application/json' : 'application/problem+json');
    const examples = media.examples ? Object.values(media.examples) : [{ value: media.example }];
    expect(examples).toHaveLength(1);
    expect(validate(media.schema.$ref, examples[0]?.value)).toEqual([]);
  }
});

test('the fields of each schema are as documented', () => {
  const fields = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => {
      const { properties, required } = schema as { properties: object; required: string[] };
      return [name, Object.keys(properties).map((key) => (required.includes(key) ? key : `${key}?`))];
    }),
  );
  expect(fields).toEqual({
    HealthResponse: ['success', 'data'],
    StatusResponse: ['success', 'data'],
    StatusData: [
      'service',
      'website',
      'description',
      'docs',
      'openapi',
      'llms',
      'signalApi?',
      'contact',
      'apiVersion',
      'versioningPolicy?',
      'deprecationPolicy?',
      'endpoints',
      'time',
    ],
    EndpointInfo: ['method', 'path', 'description'],
    Problem: ['type', 'title', 'status', 'code', 'detail?', 'hint?', 'instance?', 'request_id?'],
  });
});

test.each([
  ['GET', '/api/health', '200'],
  ['GET', '/api/v1/status', '200'],
  ['GET', '/api/{unknown}', '404'],
  ['POST', '/api/{unknown}', '405'],
  ['GET', '/api/health', '429'],
] as const)(
  'the response of %s %s with %s matches its schema and has the documented headers',
  async (method, path, status) => {
    if (status === '429') for (let i = 0; i < 3; i++) await t.app.inject('/api/health');
    const answer = await t.app.inject({ method, url: path.replace('{unknown}', 'bookings') });
    expect(String(answer.statusCode)).toBe(status);
    const described = answersOf(document.paths[path]?.get as Operation).find(
      ([s]) => s === status,
    )?.[1] as Answer;
    for (const name of Object.keys(described.headers))
      expect(answer.headers).toHaveProperty(name.toLowerCase());
    const type = String(answer.headers['content-type']);
    expect(validator()(described.content[type]?.schema.$ref ?? '', answer.json())).toEqual([]);
  },
);

test('every component, member and parameter is described', () => {
  const silent: string[] = [];
  const look = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { properties = {} } = node as {
      properties?: Record<string, { $ref?: string; description?: string }>;
    };
    for (const [name, member] of Object.entries(properties)) {
      if (!member.description && !member.$ref) silent.push(`${place}.${name}`);
    }
    for (const [key, child] of Object.entries(node)) look(child, `${place}/${key}`);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (!('description' in schema)) silent.push(name);
    look(schema, name);
  }
  expect(silent).toEqual([]);
});

test('the examples match the actual responses', async () => {
  const [, success] = answersOf(document.paths['/api/v1/status']?.get as Operation)[0] ?? [];
  const shown = success?.content['application/json']?.example as { data: object };
  const { data } = (await t.app.inject('/api/v1/status')).json();
  expect({ ...shown.data, time: data.time }).toEqual(data);
});

test('a deprecated operation is marked as such', async () => {
  const deprecation = {
    method: 'GET',
    path: '/api/health',
    deprecatedAt: Date.UTC(2026, 0, 1),
    sunsetAt: Date.UTC(2027, 0, 1),
    successor: '/api/v1/status',
  };
  const other = await buildTestApp({ deprecations: [deprecation] });
  const { paths } = (await other.app.inject('/openapi.json')).json();
  await other.app.close();
  expect(paths['/api/health'].get).toMatchObject({ deprecated: true });
  expect(Object.keys(paths['/api/health'].get.responses['200'].headers)).toEqual(
    expect.arrayContaining(['Deprecation', 'Sunset']),
  );
  expect(paths['/api/v1/status'].get).not.toHaveProperty('deprecated');
});

test.each(OPENAPI_FILES)(
  '$file matches what $path serves; otherwise run npm run openapi',
  async ({ file, path }) => {
    const served = await servedOpenApi(path);
    // Not their text: differences are easiest to read in the diff after npm run openapi.
    expect(readFileSync(file, 'utf8') === served).toBe(true);
  },
);

test('redocly reports nothing about the public description', () => {
  const { stdout, status } = spawnSync(
    process.execPath,
    ['node_modules/.bin/redocly', 'lint', 'public', '--format=json'],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  );
  expect(status).toBe(0);
  expect(JSON.parse(stdout).problems).toEqual([]);
});
