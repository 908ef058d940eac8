import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { addOneATurn } from '../../src/http/one-a-turn.ts';
import { systemClock } from '../../src/lib/clock.ts';

test('requests that come together are handled in their order, each in a turn of its own', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  let turn = 0;
  let counting = true;
  const count = () => {
    turn++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const handled: { id: string; turn: number }[] = [];
  addOneATurn(app, systemClock);
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    handled.push({ id: params.id, turn });
    return {};
  });
  await app.ready();

  const ids = ['1', '2', '3', '4', '5'];
  const answers = await Promise.all(ids.map((id) => app.inject(`/${id}`)));
  counting = false;
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
  expect(handled.map(({ id }) => id)).toEqual(ids);
  expect(new Set(handled.map((one) => one.turn)).size).toBe(ids.length);
});

test('a handler that fails holds up nobody', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  addOneATurn(app, systemClock);
  app.get<{ Params: { id: string } }>('/:id', ({ params }) => {
    if (params.id === '1') throw new Error('fails');
    return {};
  });
  const answers = await Promise.all(['1', '2', '3'].map((id) => app.inject(`/${id}`)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200, 200]);
});
