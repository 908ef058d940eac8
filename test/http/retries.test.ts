import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { createGuide, type Visit } from '../support/api-tour.ts';
import { visitEverything } from '../support/api-visits.ts';
import { buildTestApp } from '../support/app.ts';
import { sendTestToNobody } from '../support/fake-receiver.ts';
import { readDescription } from '../support/openapi.ts';
import { readRows } from '../support/table-rows.ts';

/** Sends a request to its receiver outside of all commits: sent again, it is a new request. */
const SENDS = ['testWebhook'];

/** An app that can lose responses: they are not stored, as if the process were killed after the commit. */
async function openLossyApp() {
  const file = join(tempFolder(), 'signalpost.db');
  let losing = false;
  const t = await buildTestApp({
    file,
    env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    sendTest: sendTestToNobody,
    wrapStore: (store) => ({
      ...store,
      answerKey: async (request, token, answer) => {
        if (!losing) return store.answerKey(request, token, answer);
        // What a dead process leaves behind: a request with its changes, which no process is running.
        await store.releaseKey(request, token);
        throw new DomainError('UNAVAILABLE', 'lost');
      },
    }),
  });
  onTestFinished(() => t.app.close());
  const rows = () => {
    // The heartbeats of a process are not changes made by a request.
    const { idempotency_keys: _keys, processes: _heartbeats, ...others } = readRows(file);
    return others;
  };
  return {
    t,
    rows,
    lose: (value: boolean) => {
      losing = value;
    },
  };
}

function withoutSecrets<T extends { data?: Record<string, unknown> }>(body: T): T {
  const { data } = body;
  if (data === undefined || Array.isArray(data)) return body;
  const hidden = Object.fromEntries(
    ['api_key', 'secret'].filter((name) => name in data).map((name) => [name, null]),
  );
  return { ...body, data: { ...data, ...hidden } };
}

test('a retried POST whose response was lost returns the same again and changes nothing', async () => {
  const { t, rows, lose } = await openLossyApp();
  const guide = createGuide(t);
  const posted = new Set<string>();

  const visit: Visit = async (operationId, target, body, headers = {}) => {
    const [method, url] = target.split(' ') as ['POST', string];
    if (method !== 'POST' || SENDS.includes(operationId))
      return guide.visit(operationId, target, body, headers);
    posted.add(operationId);
    const key = `${operationId}-${posted.size}-${t.clock.now()}`;
    const send = () => {
      t.clock.advance(1_250);
      const sent = { ...t.auth, ...headers, 'idempotency-key': key };
      return t.app.inject({ method, url, headers: sent, ...(body && { payload: body }) });
    };
    lose(true);
    const first = await send();
    lose(false);
    const before = rows();
    const again = await send();
    expect(rows(), `${operationId} changed something twice`).toEqual(before);
    expect([operationId, again.statusCode]).toEqual([operationId, first.statusCode]);
    expect(again.json()).toEqual(withoutSecrets(first.json()));
    expect(again.headers.location).toBe(first.headers.location);
    const third = await send();
    expect(third.headers['idempotent-replayed']).toBe('true');
    expect(third.body).toBe(again.body);
    return first.json();
  };

  await visitEverything({ ...guide, visit });
  const { operations } = await readDescription(t.app);
  const posts = operations.filter(({ method }) => method === 'POST').map(({ operationId }) => operationId);
  expect([...posted, ...SENDS].sort()).toEqual(posts.sort());
}, 120_000);

/** An app whose process seems to be killed after the given number of changes by a keyed request. */
async function openCutApp() {
  let left = Number.POSITIVE_INFINITY;
  const file = join(tempFolder(), 'signalpost.db');
  const changed: string[] = [];
  const cut =
    (name: string, change: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      const result = await change(...args);
      changed.push(name);
      if (--left === 0) throw new DomainError('UNAVAILABLE', 'killed');
      return result;
    };
  const t = await buildTestApp({
    file,
    wrapStore: (store) => ({
      ...store,
      keeping(held, item) {
        const kept = store.keeping(held, item);
        const { commitSignals, leaveSearch, editSignals } = kept;
        const changes = { commitSignals, leaveSearch, editSignals };
        const cuts = Object.entries(changes).map(([name, change]) => [name, cut(name, change as never)]);
        return { ...kept, ...Object.fromEntries(cuts) };
      },
    }),
  });
  onTestFinished(() => t.app.close());
  return {
    t,
    file,
    changed,
    killAfter: (changes: number) => {
      left = changes;
    },
  };
}

test('an edit that is stored in several commits is completed by a retry, wherever its process was killed', async () => {
  const { t, file, changed, killAfter } = await openCutApp();
  const post = (words: string, key: string) =>
    t.app.inject({
      ...{ method: 'POST', url: '/v1/signals', headers: { ...t.auth, 'idempotency-key': key } },
      payload: {
        platform: { name: 'forum', post_url: 'https://forum.example/1' },
        external_id: 'x1',
        text: `We need a plumber. ${Array.from({ length: 2_300 }, (_, i) => `${words}${i}`).join(' ')}`,
      },
    });
  const found = async (word: string) =>
    (await t.app.inject({ url: `/v1/signals?q=${word}`, headers: t.auth })).json().data.length;
  const first = await post('aa', 'first');
  expect(first.statusCode).toBe(201);
  const signals = first.json().data.signals.length;
  changed.length = 0;
  expect((await post('ab', 'whole')).statusCode).toBe(200);
  const whole = [...changed];
  expect(whole).toEqual(['commitSignals', ...Array(5).fill('leaveSearch'), 'editSignals']);

  let before = 'ab';
  for (let n = 1; n <= whole.length; n++) {
    const words = `${'bcdefghi'[n]}a`;
    killAfter(n);
    expect((await post(words, `cut-${n}`)).statusCode).toBe(503);
    killAfter(Number.POSITIVE_INFINITY);
    const again = await post(words, `cut-${n}`);
    expect([n, again.statusCode, again.json().data.signals.length]).toEqual([n, 200, signals]);
    expect([n, await found(`${words}1`), await found(`${words}2000`)]).toEqual([n, signals, signals]);
    expect([n, await found(`${before}1`), await found(`${before}2000`)]).toEqual([n, 0, 0]);
    before = words;
  }
  const { signals: stored, signal_search_leaving: leaving } = readRows(file);
  expect([stored?.length, leaving]).toEqual([signals, []]);
});
