import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';
import { anEndpoint } from '../support/store.ts';
import { signedIn } from './browser-session.ts';

test('screens that are requested together are rendered in different turns of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  await t.app.inject('/dashboard/login'); // compiles the template
  const perTurn = new Map<number, number>();
  let turn = 0;
  let answered = 0;
  const visit = async () => {
    expect((await t.app.inject('/dashboard/login')).statusCode).toBe(200);
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    answered++;
    t.clock.advance(0.4); // a turn takes a millisecond of them
  };
  const all = Promise.all(Array.from({ length: 24 }, visit));
  while (answered < 24) {
    turn++;
    await nextTurn();
  }
  await all;
  expect(Math.max(...perTurn.values())).toBeLessThan(6);
});

test('large forms that arrive together are not parsed in one turn of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  const browser = await signedIn(t, t.tenant.id);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const payload = `phrases=${'%41'.repeat(165_000)}`;
  let answered = 0;
  const send = async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie };
    const answer = await t.app.inject({ method: 'POST', url: '/dashboard/profiles/new', payload, headers });
    expect(answer.statusCode).toBe(403); // without a token
    answered++;
  };
  const all = Promise.all(Array.from({ length: 60 }, send));
  let longest = 0;
  while (answered < 60) {
    const before = process.threadCpuUsage();
    await nextTurn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
  }
  await all;
  expect(longest).toBeLessThan(250);
});

test('a search among many webhooks considers after each of them whether to yield', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  const browser = await signedIn(t, t.tenant.id);
  for (let n = 0; n < 400; n++) await t.store.createEndpoint(anEndpoint(t.tenant.id), null);
  const monotonic = t.clock.monotonic.bind(t.clock);
  let looks = 0;
  t.clock.monotonic = () => {
    looks++;
    return monotonic();
  };
  await browser.get('/dashboard/find?q=zzz');
  expect(looks).toBeGreaterThan(400);
});
