import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { addDeprecations, DEPRECATIONS, type Deprecation } from '../../src/http/deprecations.ts';
import { addLink } from '../../src/http/paging.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

const JUNE = Date.UTC(2026, 5, 1);
const YEAR_LATER = Date.UTC(2027, 5, 1);

const OLD: Deprecation = {
  method: 'GET',
  path: '/old/:id',
  deprecatedAt: JUNE,
  sunsetAt: YEAR_LATER,
  successor: '/new',
};
const MARKS = {
  deprecation: 'true',
  sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
  link: '<https://signals.example.com/new>; rel="successor-version"',
};

let app: FastifyInstance | TestApp['app'] | undefined;
afterEach(() => app?.close());

function withMadeUpRoutes(deprecations: readonly Deprecation[]): FastifyInstance {
  const made = Fastify();
  addDeprecations(made, { baseUrl: 'https://signals.example.com', deprecations });
  made.get('/old/:id', (_request, reply) => {
    addLink(reply, '</old/2>; rel="next"');
    return { old: true };
  });
  made.post('/old/:id', () => ({ old: false }));
  made.get('/new', () => ({ old: false }));
  app = made;
  return made;
}

test('nothing is currently deprecated', () => {
  expect(DEPRECATIONS).toEqual([]);
});

test('a deprecated operation announces its deprecation, sunset date and successor', async () => {
  const answer = await withMadeUpRoutes([OLD]).inject('/old/1');
  expect(answer.headers).toMatchObject({ deprecation: MARKS.deprecation, sunset: MARKS.sunset });
});

test('links that the response already has are kept', async () => {
  const answer = await withMadeUpRoutes([OLD]).inject('/old/1');
  expect(answer.headers.link).toBe(`${MARKS.link}, </old/2>; rel="next"`);
});

test('HEAD is deprecated along with GET; other methods and paths are not', async () => {
  const made = withMadeUpRoutes([OLD]);
  expect((await made.inject({ method: 'HEAD', url: '/old/1' })).headers).toMatchObject({
    deprecation: 'true',
  });
  expect((await made.inject({ method: 'POST', url: '/old/1' })).headers).not.toHaveProperty('deprecation');
  expect((await made.inject('/new')).headers).not.toHaveProperty('deprecation');
  expect((await made.inject('/nope')).headers).not.toHaveProperty('deprecation');
});

test('an entry that names no route or gives too little notice prevents startup', async () => {
  await expect(withMadeUpRoutes([{ ...OLD, path: '/older' }]).ready()).rejects.toThrow('GET /older');
  const hasty = [{ ...OLD, sunsetAt: JUNE + 300 * 86_400_000 }];
  expect(() => withMadeUpRoutes(hasty)).toThrow('within twelve months');
});

test.each([
  ['/api/health', '/api/health'],
  ['/v1/me', '/v1/me'],
])('on %s every response is marked as deprecated, including errors', async (path, url) => {
  const t = await buildTestApp({
    env: { PUBLIC_RATE_LIMIT: '1' },
    deprecations: [{ ...OLD, path }],
  });
  app = t.app;
  const key = await t.addKey({ rateLimit: 1 });
  const answers = [];
  for (let i = 0; i < 2; i++) answers.push(await t.app.inject({ url, headers: key.auth }));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 429]);
  for (const { headers } of answers) expect(headers).toMatchObject(MARKS);
});

test('the OpenAPI document marks deprecated operations', async () => {
  const t = await buildTestApp({ deprecations: [{ ...OLD, path: '/api/health' }] });
  app = t.app;
  const { paths } = (await t.app.inject('/openapi.json')).json();
  expect(paths['/api/health'].get.deprecated).toBe(true);
  expect(paths['/api/v1/status'].get).not.toHaveProperty('deprecated');
});
