import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, onTestFinished, test, vi } from 'vitest';
import { buildTestApp } from '../support/app.ts';
import { anEndpoint } from '../support/store.ts';
import { signedIn } from './browser-session.ts';

/** The turns of the event loop in which forms were parsed. */
const parsedIn = vi.hoisted((): number[] => []);

const turnNow = () => performance.nodeTiming.uvMetricsInfo.loopCount;

vi.mock(import('../../src/dashboard/forms.ts'), async (original) => {
  const forms = await original();
  return {
    ...forms,
    parseForm(body) {
      parsedIn.push(turnNow());
      return forms.parseForm(body);
    },
  };
});

test('screens that are requested together are rendered in different turns of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  await t.app.inject('/dashboard/login'); // compiles the template
  const renderedIn: number[] = [];
  const count = () => {
    renderedIn.push(turnNow());
    t.clock.advance(0.4); // a turn takes a millisecond of them
  };
  subscribe('tracing:fastify.request.handler:start', count);
  onTestFinished(() => void unsubscribe('tracing:fastify.request.handler:start', count));
  const answers = await Promise.all(Array.from({ length: 24 }, () => t.app.inject('/dashboard/login')));
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(renderedIn).toHaveLength(24);
  expect(mostPerTurn(renderedIn)).toBeLessThan(6);
});

test('large forms that arrive together are parsed in different turns of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  const browser = await signedIn(t, t.tenant.id);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie };
  const payload = `phrases=${'%41'.repeat(165_000)}`; // takes at least a millisecond; a turn takes five of them
  parsedIn.length = 0;
  const send = () => t.app.inject({ method: 'POST', url: '/dashboard/profiles/new', payload, headers });
  const answers = await Promise.all(Array.from({ length: 30 }, send)); // as many are never refused, however long they would wait
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([403])); // without a token
  expect(parsedIn).toHaveLength(30);
  expect(mostPerTurn(parsedIn)).toBeLessThan(6);
});

// A board of leads full of escapes was parsed in one piece of 0.3 s.
test('large leads are parsed in different turns of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  const text = '\u0001'.repeat(500);
  const custom = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`field_${n}`, text]));
  for (let n = 0; n < 20; n++) {
    const payload = { email: `ann${n}@acme.com`, custom_fields: custom };
    const made = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
    expect(made.statusCode).toBe(201);
  }
  const browser = await signedIn(t, t.tenant.id);
  const turns: number[] = [];
  const parse = JSON.parse.bind(JSON);
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((json, ...rest) => {
    if (json.length > 100_000) turns.push(turnNow());
    return parse(json, ...rest);
  });
  onTestFinished(() => spy.mockRestore());
  for (const path of ['/dashboard/pipeline', '/dashboard/leads', '/dashboard/leads.csv']) {
    turns.length = 0;
    expect((await browser.get(path)).statusCode).toBe(200);
    expect(turns).toHaveLength(20);
    expect(mostPerTurn(turns), path).toBeLessThan(15);
  }
});

/** The largest number of events in one turn. */
function mostPerTurn(turns: readonly number[]): number {
  const perTurn = Map.groupBy(turns, (turn) => turn);
  return Math.max(...Array.from(perTurn.values(), ({ length }) => length));
}

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
