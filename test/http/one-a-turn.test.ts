import Fastify, { type FastifyInstance } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createLoadGate, type LoadGate } from '../../src/http/load.ts';
import { createHandlerTurns } from '../../src/http/turns.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { standInLine } from '../../src/lib/yielding.ts';
import { DomainError } from '../../src/model/errors.ts';
import { createManualClock } from '../support/manual-clock.ts';

const idleGate = (): LoadGate => createLoadGate({ clock: systemClock, store: { waitMs: () => 0 } });

/** An app whose requests belong to the owner that is the first letter of their path. */
function openApp(): FastifyInstance {
  const app = Fastify();
  onTestFinished(() => app.close());
  app.decorateRequest('owner', '');
  app.addHook('onRequest', (request, _reply, done) => {
    request.owner = request.url.charAt(1);
    done();
  });
  return app;
}

/** The turns of the event loop in which the handlers of five requests ran, when each takes that long. */
async function turnsOf(handlerMs: number) {
  const app = openApp();
  const clock = createManualClock();
  let turn = 0;
  let counting = true;
  const count = () => {
    turn++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const handled: { id: string; turn: number }[] = [];
  createHandlerTurns({ clock, load: idleGate() })(app);
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    handled.push({ id: params.id, turn });
    clock.advance(handlerMs);
    return {};
  });
  await app.ready();

  const ids = ['o1', 'o2', 'o3', 'o4', 'o5'];
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
  const app = openApp();
  createHandlerTurns({ clock: systemClock, load: idleGate() })(app);
  app.get<{ Params: { id: string } }>('/:id', ({ params }) => {
    if (params.id === 'o1') throw new Error('fails');
    return {};
  });
  const answers = await Promise.all(['o1', 'o2', 'o3'].map((id) => app.inject(`/${id}`)));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200, 200]);
});

test('a request that waited too long for its turn is rejected, and those in time are handled', async () => {
  const app = openApp();
  const clock = createManualClock();
  const load = createLoadGate({ clock, store: { waitMs: () => 0 } });
  createHandlerTurns({ clock, load })(app);
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
  const ids = ['o1', 'o2', 'o3', 'o4', 'o5', 'o6'];
  const answers = await Promise.all(ids.map((id) => app.inject(`/${id}`)));
  expect(handled).toEqual(['o1', 'o2', 'o3', 'o4']);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 503, 503]);
  for (const refusal of refusals) {
    expect(refusal).toBeInstanceOf(DomainError);
    expect(refusal).toMatchObject({ code: 'UNAVAILABLE', extra: { retryAfterSeconds: expect.any(Number) } });
  }
  expect(load.refused.turns).toBe(2);
});

test('a read whose client has disconnected before its turn is not handled, but a change is', async () => {
  const app = openApp();
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url === '/gone') reply.raw.destroy();
    done();
  });
  createHandlerTurns({ clock: systemClock, load: idleGate() })(app);
  const handled: string[] = [];
  app.all<{ Params: { id: string } }>('/:id', async ({ method, params }) => {
    handled.push(`${method} ${params.id}`);
    return {};
  });
  const cut = (method: 'GET' | 'POST') => app.inject({ method, url: '/gone' }).catch(() => null);
  await Promise.all([cut('GET'), cut('POST'), app.inject('/got')]);
  expect(handled).toEqual(['POST gone', 'GET got']);
});

test('tenants take turns: a flood of one does not delay the request of another', async () => {
  const app = openApp();
  const handled: string[] = [];
  createHandlerTurns({ clock: systemClock, load: idleGate() })(app);
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

test('tenants take turns within their handlers: long work of one does not delay that of another', async () => {
  const app = openApp();
  const pieces: string[] = [];
  createHandlerTurns({ clock: systemClock, load: idleGate() })(app);
  app.get<{ Params: { id: string } }>('/:id', async ({ params }) => {
    for (let piece = 0; piece < 3; piece++) {
      await standInLine();
      pieces.push(params.id);
      spend(6);
    }
    return {};
  });
  await app.ready();
  const ids = [...Array.from({ length: 10 }, (_, n) => `a${n}`), 'b'];
  await Promise.all(ids.map((id) => app.inject(`/${id}`)));
  expect(pieces).toHaveLength(33);
  // A piece of the others before each of its own, and one that was running.
  expect(pieces.lastIndexOf('b') - pieces.indexOf('b')).toBeLessThanOrEqual(6);
});

/** Blocks the thread for this long. */
function spend(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    // nothing
  }
}
