import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createLoadGate, type LoadGate } from '../../src/http/load.ts';
import { addOneATurn } from '../../src/http/turns.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { DomainError } from '../../src/model/errors.ts';
import { createManualClock } from '../support/manual-clock.ts';

const idleGate = (): LoadGate => createLoadGate({ clock: systemClock, store: { waitMs: () => 0 } });
const ownerOf = () => 'one';

/** The turns of the event loop in which the handlers of five requests ran, when each takes that long. */
async function turnsOf(handlerMs: number) {
  const app = Fastify();
  onTestFinished(() => app.close());
  const clock = createManualClock();
  let turn = 0;
  let counting = true;
  const count = () => {
    turn++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const handled: { id: string; turn: number }[] = [];
  addOneATurn(app, { clock, load: idleGate(), ownerOf });
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    handled.push({ id: params.id, turn });
    clock.advance(handlerMs);
    return {};
  });
  await app.ready();

  const ids = ['1', '2', '3', '4', '5'];
  const answers = await Promise.all(ids.map((id) => app.inject(`/${id}`)));
  counting = false;
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200]);
  expect(handled.map(({ id }) => id)).toEqual(ids);
  return new Set(handled.map((one) => one.turn)).size;
}

test('concurrent requests are handled in order, each in its own turn', async () => {
  expect(await turnsOf(2)).toBe(5);
});

test('requests that take less than a millisecond together share a turn', async () => {
  expect(await turnsOf(0.4)).toBe(2);
});

test('a failing handler does not block others', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  addOneATurn(app, { clock: systemClock, load: idleGate(), ownerOf });
  app.get<{ Params: { id: string } }>('/:id', ({ params }) => {
    if (params.id === '1') throw new Error('fails');
    return {};
  });
  const answers = await Promise.all(['1', '2', '3'].map((id) => app.inject(`/${id}`)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200, 200]);
});

test('a request that waited too long for its turn is rejected, and those in time are handled', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const clock = createManualClock();
  const load = createLoadGate({ clock, store: { waitMs: () => 0 } });
  addOneATurn(app, { clock, load, ownerOf });
  const handled: string[] = [];
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    handled.push(params.id);
    clock.advance(400); // a busy server
    return {};
  });
  const refusals: unknown[] = [];
  app.setErrorHandler((error, _request, reply) => {
    refusals.push(error);
    return reply.code(503).send();
  });
  await app.ready();
  const ids = ['1', '2', '3', '4', '5', '6'];
  const answers = await Promise.all(ids.map((id) => app.inject(`/${id}`)));
  expect(handled).toEqual(['1', '2', '3', '4']);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 503, 503]);
  for (const refusal of refusals) {
    expect(refusal).toBeInstanceOf(DomainError);
    expect(refusal).toMatchObject({ code: 'UNAVAILABLE', extra: { retryAfterSeconds: expect.any(Number) } });
  }
  expect(load.refused.turns).toBe(2);
});

test('a read whose client has disconnected before its turn is not handled, but a change is', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url === '/gone') reply.raw.destroy();
    done();
  });
  addOneATurn(app, { clock: systemClock, load: idleGate(), ownerOf });
  const handled: string[] = [];
  app.all<{ Params: { id: string } }>('/:id', async ({ method, params }) => {
    handled.push(`${method} ${params.id}`);
    return {};
  });
  const cut = (method: 'GET' | 'POST') => app.inject({ method, url: '/gone' }).catch(() => null);
  await Promise.all([cut('GET'), cut('POST'), app.inject('/there')]);
  expect(handled).toEqual(['POST gone', 'GET there']);
});

test('tenants take turns: a flood of one does not delay the request of another', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const handled: string[] = [];
  addOneATurn(app, {
    ...{ clock: systemClock, load: idleGate() },
    ownerOf: ({ url }) => url.charAt(1),
  });
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    handled.push(params.id);
    return {};
  });
  await app.ready();
  await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((id) => app.inject(`/${id}`)));
  expect(handled.indexOf('b1')).toBeLessThan(handled.indexOf('a3'));
  expect(handled.indexOf('b2')).toBeLessThan(handled.indexOf('a4'));
  expect(handled.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4']);
});
