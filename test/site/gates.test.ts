import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { addPageGate } from '../../src/site/gates.ts';
import type { PageErrors } from '../../src/site/page-errors.ts';

test('pages are refused while too many are being sent, in all or to a client, and served again afterwards', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const send = (code: number) => (_: unknown, reply: { code(code: number): { send(): unknown } }) =>
    reply.code(code).send();
  const errors = { notFound: send(404), busy: send(503) } as unknown as PageErrors;
  addPageGate(app, errors, { most: 3, ofClient: 2 });
  const release: (() => void)[] = [];
  app.get('/', () => new Promise((resolve) => release.push(() => resolve('page'))));
  await app.ready();
  const statusOf = async (remoteAddress = '203.0.113.7') =>
    (await app.inject({ url: '/', remoteAddress })).statusCode;
  const [first, second] = [statusOf(), statusOf()];
  await expect.poll(() => release.length).toBe(2);
  expect(await statusOf()).toBe(503);
  const third = statusOf('203.0.113.8');
  await expect.poll(() => release.length).toBe(3);
  expect(await statusOf('203.0.113.9')).toBe(503);
  release[0]?.();
  expect(await first).toBe(200);
  const fourth = statusOf();
  await expect.poll(() => release.length).toBe(4);
  for (const end of release) end();
  expect([await second, await third, await fourth]).toEqual([200, 200, 200]);
  expect((await app.inject('/none')).statusCode).toBe(404);
});
