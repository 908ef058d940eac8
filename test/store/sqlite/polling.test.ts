import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { parseRows } from '../../../src/lib/json.ts';
import { createSeededRandom } from '../../../src/lib/secret-box.ts';
import type { Position } from '../../../src/model/filters.ts';
import type { NewSignal, StoredSignalQuery } from '../../../src/store/signal-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { aRoutedEvent, aSignal, aTenant, T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const WRITERS = 8;
const COMMITS_OF_EACH = 12;
const MOST_IN_A_COMMIT = 500;
const ROOT = join(import.meta.dirname, '../../..');
const ANY: StoredSignalQuery = {
  ...{ platforms: [], icps: [], signalTypes: [], classifications: [], companyDomains: [] },
  ...{ from: null, to: null, minScore: null, q: null, explain: false, limit: 25, after: null },
};

/** A number from 0 to below `most`, the same in each run with a seed. */
type Pick = (most: number) => number;

/** A poller: what it has read, and its position. It outlives any store. */
interface Poller {
  kind: 'signals' | 'events';
  query: Partial<StoredSignalQuery>;
  seen: string[];
  after: Position | null;
}

/** Reads one page of a random size; returns whether there is more. */
async function readPage(store: Store, poller: Poller, pick: Pick): Promise<boolean> {
  const limit = 1 + pick(100);
  const { after, kind, query } = poller;
  if (kind === 'events') {
    const page = await store.listStoredEvents('ten_a', { types: [], from: null, to: null, limit, after });
    poller.seen.push(...page.rows.map(({ id }) => id));
    poller.after = page.next;
    return page.hasMore;
  }
  const page = await store.listStoredSignals('ten_a', { ...ANY, ...query, limit, after });
  const rows = parseRows<{ signal_id: string }>(page.json);
  poller.seen.push(...rows.map(({ signal_id }) => signal_id));
  poller.after = page.next;
  return page.hasMore;
}

async function drain(store: Store, poller: Poller, pick: Pick): Promise<void> {
  while (await readPage(store, poller, pick));
}

/**
 * A commit of a writer: usually a few signals, sometimes hundreds; some on other platforms, for pollers with a
 * filter.
 */
function aCommit(writer: number, n: number, pick: Pick): NewSignal[] {
  const size = pick(4) === 0 ? 1 + pick(MOST_IN_A_COMMIT) : 1 + pick(3);
  return Array.from({ length: size }, (_, i) => {
    const id = `${writer}_${n}_${i}`;
    return aSignal('ten_a', {
      id: `sig_${id}`,
      // Detected up to a minute before it is stored.
      timestamp: T0 + n * 1_000 - pick(60_000),
      platform: pick(3) === 0 ? 'odd' : 'even',
      events: [aRoutedEvent('ten_a', [], { id: `evt_${id}`, createdAt: T0 + n * 1_000 - pick(60_000) })],
    });
  });
}

test.each([1, 2, 3])(
  'with eight writers, restarts and any page size, a poller gets each row once, in commit order (seed %i)',
  async (seed) => {
    const { fraction } = createSeededRandom(Buffer.alloc(32))(String(seed));
    const pick: Pick = (most) => Math.floor(fraction() * most);
    const file = join(tempFolder(), 'signalpost.db');
    const open = () => openSqliteStore({ file, clock: systemClock, writerThread: true });
    let store = await open();
    onTestFinished(() => store.close());
    await store.createTenant(aTenant('ten_a'));

    const pollers: Poller[] = [
      { kind: 'signals', query: {}, seen: [], after: null },
      { kind: 'signals', query: { platforms: ['odd'] }, seen: [], after: null },
      { kind: 'events', query: {}, seen: [], after: null },
    ];
    const created = new Set<string>();
    let refused = 0;
    for (let n = 0; n < COMMITS_OF_EACH; n++) {
      const commits = Array.from({ length: WRITERS }, (_, writer) => {
        const signals = aCommit(writer, n, pick);
        // Makes the whole change fail, so that nothing is stored and none of its numbers ever shows.
        const broken = pick(6) === 0 ? [aSignal('ten_a', { profileId: 'icp_none' })] : [];
        return store.commitSignals([...signals, ...broken]).then(
          () => {
            for (const { id } of signals) created.add(id);
          },
          () => {
            refused++;
          },
        );
      });
      for (let reads = pick(6); reads > 0; reads--) {
        await Promise.all(pollers.map((poller) => readPage(store, poller, pick)));
      }
      await Promise.all(commits);
      if (pick(3) === 0) {
        await store.close();
        store = await open();
      }
    }
    for (const poller of pollers) await drain(store, poller, pick);

    const db = new Sqlite(file, { readonly: true });
    const inOrder = (where: string) =>
      db
        .prepare(`SELECT id FROM signals JOIN signal_positions USING (seq) WHERE ${where} ORDER BY position`)
        .pluck()
        .all();
    expect(refused).toBeGreaterThan(0);
    expect(pollers[0]?.seen).toEqual(inOrder('1'));
    expect(new Set(pollers[0]?.seen)).toEqual(created);
    expect(pollers[1]?.seen).toEqual(inOrder("platform = 'odd'"));
    expect(pollers[2]?.seen).toEqual(pollers[0]?.seen.map((id) => id.replace('sig_', 'evt_')));
    db.close();
  },
);

test('a waiting poller gets each row once when two processes store in one file', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const store = await openSqliteStore({ file, clock: systemClock, writerThread: true });
  onTestFinished(() => store.close());
  await store.createTenant(aTenant('ten_a'));
  const COMMITS = 30;
  const script = `
    import { openSqliteStore } from '${ROOT}/src/store/sqlite/open.ts';
    import { systemClock } from '${ROOT}/src/lib/clock.ts';
    import { aSignal } from '${ROOT}/test/support/store.ts';
    const store = await openSqliteStore({ file: ${JSON.stringify(file)}, clock: systemClock, writerThread: true });
    for (let n = 0; n < ${COMMITS}; n++) {
      const timestamp = ${T0} - n;
      await store.commitSignals(Array.from({ length: 1 + n * 5 }, (_, i) => aSignal('ten_a', { id: 'sig_' + process.argv[1] + n + '_' + i, timestamp })));
    }
    await store.close();`;
  const writers = ['a', 'b'].map((name) =>
    spawn(process.execPath, ['--input-type=module', '--eval', script, name], { stdio: 'inherit' }),
  );
  const wanted = 2 * Array.from({ length: COMMITS }, (_, n) => 1 + n * 5).reduce((sum, size) => sum + size);
  const ends = writers.map((writer) => once(writer, 'exit'));
  const poller: Poller = { kind: 'signals', query: {}, seen: [], after: null };
  const tooLong = AbortSignal.timeout(50_000);
  while (poller.seen.length < wanted && !tooLong.aborted) {
    await store.untilStored('ten_a', { kind: 'signals', after: poller.after ?? [0] }, tooLong);
    await drain(store, poller, () => 99);
  }
  expect((await Promise.all(ends)).map(([code]) => code)).toEqual([0, 0]);
  expect(poller.seen).toHaveLength(wanted);
  expect(new Set(poller.seen).size).toBe(wanted);
  await drain(store, poller, () => 99);
  expect(poller.seen).toHaveLength(wanted);
});
