import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRows } from '../../../src/lib/json.ts';
import type { SignalQuery } from '../../../src/model/signal.ts';
import type { NewSignal, SignalPage } from '../../../src/store/signal-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

/** A query without filters. */
export const ANY: SignalQuery = {
  platforms: [],
  icps: [],
  from: null,
  to: null,
  signalTypes: [],
  classifications: [],
  minScore: null,
  companyDomains: [],
  q: null,
  sort: '-timestamp',
  limit: 25,
  after: null,
  explain: false,
};

/** The rows of a page, parsed. */
// biome-ignore lint/suspicious/noExplicitAny: a test knows what it has stored
export function rowsOf({ json }: SignalPage): any[] {
  return parseRows(json);
}

async function listIds(store: Store, query: Partial<SignalQuery>): Promise<string[]> {
  const page = await store.listSignals('ten_a', { ...ANY, ...query });
  return rowsOf(page).map((row) => row.signal_id);
}

const SAMPLE: Partial<NewSignal>[] = [
  { id: 'sig_1', timestamp: T0 + 1, score: 90, platform: 'reddit', companyDomain: 'acme.com' },
  { id: 'sig_2', timestamp: T0 + 2, score: 50, platform: 'x', classification: 'warm' },
  { id: 'sig_3', timestamp: T0 + 3, score: 10, platform: 'g2', classification: 'cold', signalType: 'review' },
  { id: 'sig_4', timestamp: T0 + 4, score: 90, platform: 'x', companyDomain: 'globex.com' },
];

async function openWithSample(open: OpenStore) {
  const opened = await openWithTenants(open);
  await opened.store.commitSignals(SAMPLE.map((signal) => aSignal('ten_a', signal)));
  await opened.store.commitSignals([aSignal('ten_b', { id: 'sig_of_b' })]);
  return opened;
}

export function describeSignalList(open: OpenStore): void {
  describe('listing signals', () => {
    test.each<[SignalQuery['sort'], string[]]>([
      ['-timestamp', ['sig_4', 'sig_3', 'sig_2', 'sig_1']],
      ['timestamp', ['sig_1', 'sig_2', 'sig_3', 'sig_4']],
      ['-icp_score', ['sig_4', 'sig_1', 'sig_2', 'sig_3']],
    ])('lists the signals of one tenant in the order %s', async (sort, ids) => {
      const opened = await openWithSample(open);
      expect(await listIds(opened.store, { sort })).toEqual(ids);
    });

    test.each<[string, Partial<SignalQuery>, string[]]>([
      ['a platform', { platforms: ['x'] }, ['sig_4', 'sig_2']],
      ['several platforms', { platforms: ['g2', 'reddit'] }, ['sig_3', 'sig_1']],
      ['a platform with a NUL', { platforms: ['x\0', 'reddit'] }, ['sig_1']],
      ['a profile by id', { icps: ['icp_ten_a'] }, ['sig_4', 'sig_3', 'sig_2', 'sig_1']],
      ['a profile by name in any case', { icps: ['dEFAULT'] }, ['sig_4', 'sig_3', 'sig_2', 'sig_1']],
      ['a profile of another tenant', { icps: ['icp_ten_b'] }, []],
      ['a type', { signalTypes: ['review'] }, ['sig_3']],
      ['several types', { signalTypes: ['review', 'job_change'] }, ['sig_3']],
      ['a classification', { classifications: ['warm'] }, ['sig_2']],
      ['several classifications', { classifications: ['hot', 'cold'] }, ['sig_4', 'sig_3', 'sig_1']],
      ['a least score', { minScore: 50 }, ['sig_4', 'sig_2', 'sig_1']],
      ['a domain', { companyDomains: ['acme.com'] }, ['sig_1']],
      ['several domains', { companyDomains: ['acme.com', 'globex.com'] }, ['sig_4', 'sig_1']],
      ['a start, itself included', { from: T0 + 3 }, ['sig_4', 'sig_3']],
      ['an end, itself left out', { to: T0 + 3 }, ['sig_2', 'sig_1']],
      ['all at once', { platforms: ['x'], classifications: ['hot'], minScore: 1, from: T0 }, ['sig_4']],
    ])('filtered by %s, lists only the matches', async (_, query, ids) => {
      const opened = await openWithSample(open);
      expect(await listIds(opened.store, query)).toEqual(ids);
      const byScore = await listIds(opened.store, { ...query, sort: '-icp_score' });
      expect(byScore.sort()).toEqual(ids.sort());
    });

    test('a page followed by others has the key of its last row; the last page has none', async () => {
      const { store } = await openWithSample(open);
      const first = await store.listSignals('ten_a', { ...ANY, limit: 3 });
      const second = await store.listSignals('ten_a', { ...ANY, limit: 3, after: first.last });
      expect(rowsOf(second)).toEqual([{ signal_id: 'sig_1' }]);
      expect(second.last).toBeNull();
      expect((await store.listSignals('ten_a', { ...ANY, limit: 4 })).last).toBeNull();
    });

    test('rejects a position of another order', async () => {
      const opened = await openWithSample(open);
      const query: SignalQuery = { ...ANY, sort: '-icp_score', after: [T0, 'sig_1'] };
      await expect(opened.store.listSignals('ten_a', query)).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
      });
    });

    test('includes the explanation as the last member of each row on request', async () => {
      const opened = await openWithSample(open);
      const page = await opened.store.listSignals('ten_a', { ...ANY, explain: true, limit: 1 });
      expect(Buffer.from(page.json).toString()).toBe('{"signal_id":"sig_4","explanation":{"score":90}}');
    });

    test('paging returns every signal exactly once, in order, despite concurrent inserts', async () => {
      const opened = await openWithTenants(open);
      let number = 0;
      await fc.assert(
        fc.asyncProperty(pagingRun, (run) => checkPaging(opened.store, { ...run, number: ++number })),
        { numRuns: 60 },
      );
    });
  });
}

/** Only a few times and scores, so that ties are common. */
const someSignal = fc.record({ at: fc.nat(3), score: fc.nat(2) });
const pagingRun = fc.record({
  before: fc.array(someSignal, { maxLength: 25 }),
  meanwhile: fc.array(someSignal, { maxLength: 6 }),
  limit: fc.integer({ min: 1, max: 7 }),
  sort: fc.constantFrom<SignalQuery['sort'][]>('-timestamp', 'timestamp', '-icp_score'),
  // Separates the signals of a run from those of others, because the store is shared.
  by: fc.constantFrom('platform', 'word', 'window', 'external ID'),
});

type PagingRun = typeof pagingRun extends fc.Arbitrary<infer T> ? T : never;
type Run = PagingRun & { number: number };

function filterOf({ by, number }: Run): Partial<SignalQuery> {
  if (by === 'platform') return { platforms: [`run${number}`] };
  if (by === 'external ID') return { externalId: `run${number}` };
  if (by === 'word') return { q: `run${number}` };
  return { from: startOf(number), to: startOf(number + 1) };
}

function startOf(number: number): number {
  return T0 + number * 1_000;
}

async function checkPaging(store: Store, run: Run): Promise<void> {
  const { before, meanwhile, limit, sort, number } = run;
  const toSignal = ({ at, score }: { at: number; score: number }, from: string) => {
    const timestamp = startOf(number) + at;
    const signal = aSignal('ten_a', { platform: `run${number}`, text: `In run${number}.`, timestamp, score });
    // As of feeds: the displayed ID is not the stored one.
    const wire = { from, id: signal.id, external_id: `run${number}`, timestamp, score };
    return { ...signal, externalId: signal.id, wire: JSON.stringify(wire) };
  };
  const all = before.map((signal) => toSignal(signal, 'before'));
  await store.commitSignals(all);

  const seen: { from: string; id: string; timestamp: number; score: number }[] = [];
  let after: SignalQuery['after'] = null;
  do {
    const page = await store.listSignals('ten_a', { ...ANY, ...filterOf(run), sort, limit, after });
    seen.push(...rowsOf(page));
    after = page.last;
    const added = meanwhile.pop();
    if (added !== undefined) await store.commitSignals([toSignal(added, 'meanwhile')]);
  } while (after !== null);

  expect(seen).toEqual([...seen].sort(inOrderOf(sort)));
  expect(new Set(seen.map((row) => row.id)).size).toBe(seen.length);
  const old = seen.filter((row) => row.from === 'before').map((row) => row.id);
  expect(old.sort()).toEqual(all.map((signal) => signal.id).sort());
}

/** Rows that compare as equal keep their order, because `sort` is stable. */
function inOrderOf(sort: SignalQuery['sort']) {
  type Row = { timestamp: number; score: number };
  return (a: Row, b: Row) => {
    if (sort === 'timestamp') return a.timestamp - b.timestamp;
    const byScore = sort === '-icp_score' ? b.score - a.score : 0;
    return byScore === 0 ? b.timestamp - a.timestamp : byScore;
  };
}
