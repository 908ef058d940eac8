import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { addErrorHandler, createErrorHandler } from '../../src/http/errors.ts';
import { addJsonBody, refuseStrayBodies, validatorCompiler } from '../../src/http/json-body.ts';
import { createProblems } from '../../src/http/problems.ts';

let app: FastifyInstance;
beforeEach(async () => {
  app = Fastify();
  const problems = createProblems('https://signals.example.com');
  app.setValidatorCompiler(validatorCompiler);
  addErrorHandler(app, createErrorHandler({ problems, logger: app.log as never }));
  addJsonBody(app);
  refuseStrayBodies(app);
  app.post('/pause', async () => ({ paused: true }));
  app.post(
    '/replay',
    { schema: { body: z.strictObject({ from: z.string().optional() }).nullish() } },
    async () => ({}),
  );
});
afterEach(() => app.close());

function post(
  url: string,
  payload: string | undefined,
  contentType: string | undefined = 'application/json',
) {
  const headers = contentType === undefined ? {} : { 'content-type': contentType };
  return app.inject({ method: 'POST', url, headers, ...(payload !== undefined && { payload }) });
}

test.each(['/pause', '/replay'])(
  '%s works without a body, with an empty one and with an empty object',
  async (url) => {
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(200);
    expect((await post(url, '')).statusCode).toBe(200);
    expect((await post(url, undefined)).statusCode).toBe(200);
    expect((await post(url, '{}')).statusCode).toBe(200);
  },
);

test.each(['{"reason":"holiday"}', '[1]', '"x"', '7'])(
  'a route that takes no body rejects %s',
  async (payload) => {
    const answer = await post('/pause', payload);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().code).toBe('INVALID_REQUEST');
  },
);

test('the error names the unexpected member', async () => {
  const { errors } = (await post('/pause', '{"reason":"holiday"}')).json();
  expect(errors).toEqual([
    { pointer: '/reason', detail: '"reason" is not a known member. There are no members here.' },
  ]);
});
