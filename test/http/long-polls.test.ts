import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createLongPolls } from '../../src/http/connections.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('requests that are woken together continue in turns, tenants one after the other', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  const clock = createManualClock();
  const polls = createLongPolls({ clock, load: { park: () => () => {} } });
  const woken = Promise.withResolvers<void>();
  const went: string[] = [];
  let begun = 0;
  app.get<{ Params: { tenant: string } }>('/:tenant', async (request, reply) => {
    const { tenant } = request.params;
    const poll = polls.begin({
      request: Object.assign(request, { waitedMs: 0 }),
      reply,
      tenantId: tenant,
      seconds: 20,
    });
    begun++;
    await woken.promise;
    await poll.turn();
    went.push(tenant);
    clock.advance(2); // what it reads
    poll.end();
    return {};
  });
  await app.ready();
  const answers = ['a', 'a', 'a', 'a', 'b', 'b'].map((tenant) => app.inject(`/${tenant}`));
  await expect.poll(() => begun).toBe(6);
  woken.resolve();
  const seen: number[] = [];
  for (let turn = 0; went.length < 6 && turn < 50; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(went.length);
  }
  await Promise.all(answers);
  expect([...new Set(seen)].filter((n) => n > 0)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(went.join('')).toBe('ababaa');
});
