import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../cli/process.ts';
import { rss } from '../detection/harness.ts';
import { call } from '../support/counting-receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

/** `npm run torture:sources` uses 200. */
const KILLS = Number(process.env.TORTURE_KILLS ?? 6);
/** Enough for several commits of one run. */
const NEW_ITEMS = 120;
const SHOWN_ITEMS = 400;
const PATIENCE_MS = 60_000;

/** Not near-duplicates: similar texts by unknown authors become one signal only from 200 characters on. */
const textOf = (number: number) =>
  `Item ${number}: we are looking for a new CRM, any recommendations? Budget approved, buying this month.`;

/** A page of the API, and whether there are more. */
interface Page {
  data: { external_id: string }[];
  pagination: { next_cursor: string | null };
}

test(
  `kill -9 at random moments of ${KILLS} runs loses no item of a feed and doubles none`,
  async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder[Symbol.dispose]());
    let shown = 0;
    let asked = () => {};
    const site = createServer((request, response) => {
      if (request.url !== '/feed.xml') {
        response.writeHead(404).end();
        return;
      }
      const from = Math.max(0, shown - SHOWN_ITEMS);
      const items = Array.from({ length: shown - from }, (_, i) => shown - 1 - i);
      response.end(rss(items.map((number) => [`item-${number}`, textOf(number)])));
      asked();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void site.close());
    const port = await freePort();
    const env = serverEnv(folder.path, port);
    const create = [
      'tenant',
      'create',
      '--name',
      'Kill',
      '--email',
      'kill@example.com',
      '--plan',
      'enterprise',
    ];
    const { api_key: key } = JSON.parse(await runCommand([...create, '--json'], env));

    let server = await startServerProcess(folder.path, port);
    onTestFinished(() => server.kill());
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/feed.xml`;
    const { id } = (await call(server.url, key, '/v1/sources', { kind: 'rss', name: 'Feed', url })).data;
    const headers = { authorization: `Bearer ${key}` };
    const run = async () => {
      const answer = await fetch(`${server.url}/v1/sources/${id}/run`, { method: 'POST', headers });
      if (!answer.ok) throw new Error(await answer.text());
    };
    for (let kill = 0; kill < KILLS; kill++) {
      shown += NEW_ITEMS;
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      await run();
      await isAsked;
      // At any time: while the feed is read, matched, stored in part, stored at the end, or afterwards.
      await pause(Math.random() * 250);
      await server.kill();
      server = await startServerProcess(folder.path, port);
      // The feed still shows items lost by a kill, like any feed that is read twice before it changes.
      if ((kill + 1) % 2 === 0) await settle();
    }
    await settle();

    const found = await allIds(server.url, key);
    expect(found.length - new Set(found).size).toBe(0);
    expect(new Set(found)).toEqual(new Set(Array.from({ length: shown }, (_, number) => `item-${number}`)));
    expect(await server.terminate()).toBe(0);

    /** Triggers runs until one has succeeded. */
    async function settle(): Promise<void> {
      const before = await successes();
      await run();
      const end = Date.now() + PATIENCE_MS;
      while ((await successes()) <= before) {
        if (Date.now() > end) throw new Error('no run ended');
        await pause(25);
      }
    }

    async function successes(): Promise<number> {
      const { data } = await call(server.url, key, `/v1/sources/${id}`);
      return data.last_success_at === null ? 0 : Date.parse(data.last_success_at);
    }
  },
  60_000 + KILLS * 15_000,
);

async function allIds(url: string, key: string): Promise<string[]> {
  const ids: string[] = [];
  let after = '';
  for (;;) {
    const page: Page = await call(url, key, `/v1/signals?limit=100${after}`);
    ids.push(...page.data.map(({ external_id }) => external_id));
    if (page.pagination.next_cursor === null) return ids;
    after = `&cursor=${encodeURIComponent(page.pagination.next_cursor)}`;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
