import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { addPageGate } from '../../src/site/gates.ts';
import type { PageErrors } from '../../src/site/page-errors.ts';

test('pages are refused while too many are being sent, and served again afterwards', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const send = (code: number) => (_: unknown, reply: { code(code: number): { send(): unknown } }) =>
    reply.code(code).send();
  const errors = { notFound: send(404), busy: send(503) } as unknown as PageErrors;
  addPageGate(app, errors, 2);
  const release: (() => void)[] = [];
  app.get('/', () => new Promise((resolve) => release.push(() => resolve('page'))));
  await app.ready();
  const statusOf = async () => (await app.inject('/')).statusCode;
  const [first, second] = [statusOf(), statusOf()];
  await expect.poll(() => release.length).toBe(2);
  expect(await statusOf()).toBe(503);
  release[0]?.();
  expect(await first).toBe(200);
  const third = statusOf();
  await expect.poll(() => release.length).toBe(3);
  for (const end of release) end();
  expect([await second, await third]).toEqual([200, 200]);
  expect((await app.inject('/none')).statusCode).toBe(404);
});
