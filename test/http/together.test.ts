import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { handleTogether } from '../../src/http/turns.ts';

test('concurrent requests are all read before the first is handled, and handled in order', async () => {
  const steps: string[] = [];
  const app = Fastify();
  app.addHook('onRequest', (request, _reply, done) => {
    steps.push(`read ${request.url}`);
    done();
  });
  handleTogether(app);
  app.get('/:name', (request, reply) => {
    steps.push(`handle ${request.url}`);
    reply.send('');
  });
  await app.ready();

  await Promise.all([app.inject('/a'), app.inject('/b'), app.inject('/c')]);
  expect(steps).toEqual(['read /a', 'read /b', 'read /c', 'handle /a', 'handle /b', 'handle /c']);

  await app.inject('/d');
  expect(steps.slice(6)).toEqual(['read /d', 'handle /d']);
});

test('a handler that throws returns 500 and does not block others', async () => {
  const app = Fastify();
  handleTogether(app);
  app.get('/bad', () => {
    throw new Error('broken');
  });
  app.get('/good', (_request, reply) => reply.send('good'));
  await app.ready();

  const answers = await Promise.all([app.inject('/bad'), app.inject('/good')]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200]);
});
