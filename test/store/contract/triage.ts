import { describe, expect, test } from 'vitest';
import type { TriageFilter } from '../../../src/model/signal.ts';
import type { Store } from '../../../src/store/store.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { ANY, rowsOf } from './signal-list.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const HOUR = 3_600_000;

async function openWithFive(open: OpenStore) {
  const opened = await openWithTenants(open);
  const scores = [90, 80, 70, 60, 50];
  await opened.store.commitSignals(
    scores.map((score, at) =>
      aSignal('ten_a', {
        ...{ id: `sig_${at + 1}`, timestamp: T0 + at, score, externalId: `x${at}` },
        ...{ classification: score >= 70 ? 'hot' : 'warm', text: `words ${at}` },
      }),
    ),
  );
  await opened.store.commitSignals([aSignal('ten_b', { id: 'sig_of_b' })]);
  return opened;
}

function judge(store: Store, signalId: string, relevant = true) {
  const said = { tenantId: 'ten_a', signalId, relevant, reason: '', actorId: 'usr_1', createdAt: T0 };
  return store.saveFeedback(said);
}

/** The IDs in a list filtered by triage. */
async function listed(store: Store, triage: Partial<TriageFilter>, query: Partial<typeof ANY> = {}) {
  const asked = { ...ANY, ...query, triage: { state: 'all' as const, assignee: null, now: T0, ...triage } };
  const ids = rowsOf(await store.listSignals('ten_a', asked)).map((row) => row.signal_id);
  expect(await store.countSignals('ten_a', asked, 100)).toBe(ids.length);
  return ids;
}

export function describeTriage(open: OpenStore): void {
  describe('triage of signals', () => {
    test('a signal that is rated or attached to a lead is done', async () => {
      const { store } = await openWithFive(open);
      await judge(store, 'sig_5', false);
      await store.commitLead(aNewLead('ten_a', aLead('led_1'), { attach: ['sig_3'] }));
      expect(await listed(store, { state: 'open' })).toEqual(['sig_4', 'sig_2', 'sig_1']);
      expect(await listed(store, { state: 'done' })).toEqual(['sig_5', 'sig_3']);
      expect(await listed(store, {})).toHaveLength(5);
    });

    test('a new signal of a lead is attached to it, and stays open until it is handled', async () => {
      const { store } = await openWithFive(open);
      const keys = ['email:ida@acme.example'];
      await store.commitLead(
        aNewLead('ten_a', aLead('led_1'), { keys, seen: [{ key: keys[0] ?? '', leadId: null }] }),
      );
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_new', timestamp: T0 + HOUR, externalId: 'new', personKeys: keys }),
      ]);
      expect(rowsOf(await store.listSignals('ten_a', ANY))[0]).toMatchObject({
        signal_id: 'sig_new',
        lead_id: 'led_1',
      });
      expect((await listed(store, { state: 'open' }))[0]).toBe('sig_new');
      expect(await listed(store, { state: 'done' })).toEqual([]);
      await store.triageSignals('ten_a', ['sig_new'], { added: true });
      expect(await listed(store, { state: 'done' })).toEqual(['sig_new']);
    });

    test('counts signals by day, class and score, as of now, and without samples', async () => {
      const { store } = await openWithFive(open);
      const DAY = 24 * HOUR;
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_old', timestamp: T0 - 40 * DAY, externalId: 'old' }),
        aSignal('ten_a', { id: 'sig_next', timestamp: T0 + DAY, score: 84, externalId: 'next' }),
        aSignal('ten_a', { platform: 'sample', externalId: 'made-up' }),
      ]);
      const [day, next] = [T0, T0 + DAY].map((ms) => new Date(ms).toISOString().slice(0, 10));
      const days = [day ?? '', next ?? ''];
      const byDay = (from = day ?? '') => store.countSignalsByDay('ten_a', from);
      const byScore = async (profileId = 'icp_ten_a', of = days) =>
        (await store.countSignalsByScore('ten_a', { profileId, days: of })).map(({ score, count }) => [
          score,
          count,
        ]);
      const later = { day: next, hot: 1, warm: 0 };
      expect(await byDay()).toEqual([{ day, hot: 3, warm: 2 }, later]);
      expect(await byDay(next)).toEqual([later]);
      expect(await store.countSignalsByDay('ten_b', day ?? '')).toEqual([{ day, hot: 1, warm: 0 }]);
      const scores = [50, 60, 70, 80].map((score) => [score, score === 80 ? 2 : 1]);
      expect(await byScore()).toEqual([...scores, [90, 1]]);
      expect(await byScore('icp_ten_a', days.slice(1))).toEqual([[80, 1]]);
      expect(await byScore('icp_other')).toEqual([]);
      await store.deleteSignal('ten_a', 'sig_1', T0);
      const wire = JSON.stringify({
        signal_id: 'sig_e',
        prospect: {},
        company: { domain: '' },
        platform: {},
      });
      const edited = { id: 'sig_e', wire, classification: 'warm', score: 55, externalId: 'e' };
      await store.commitSignals([aSignal('ten_a', edited)]);
      expect(await byDay()).toEqual([{ day, hot: 2, warm: 3 }, later]);
      const edit = { ...edited, classification: 'hot', score: 82, text: 'other words' };
      await store.editSignals([{ signal: aSignal('ten_a', edit), now: T0, replacedLength: 5 }]);
      expect(await byDay()).toEqual([{ day, hot: 3, warm: 2 }, later]);
      expect(await byScore()).toEqual([...scores.slice(0, 3), [80, 3]]);
      await judge(store, 'sig_2');
      await judge(store, 'sig_3', false);
      expect(await store.countJudged('ten_a', { since: T0 - DAY, most: 10 })).toBe(2);
      expect(await store.countJudged('ten_a', { since: T0 - DAY, most: 1 })).toBe(1);
      expect(await store.countJudged('ten_a', { since: T0 + DAY, most: 10 })).toBe(0);
      expect(await store.countJudged('ten_b', { since: 0, most: 10 })).toBe(0);
    });

    test('a snooze ends at its time or when it is removed', async () => {
      const { store } = await openWithFive(open);
      expect(await store.triageSignals('ten_a', ['sig_1', 'sig_2'], { snoozedUntil: T0 + HOUR })).toBe(2);
      expect(await listed(store, { state: 'open' })).toEqual(['sig_5', 'sig_4', 'sig_3']);
      expect(await listed(store, { state: 'snoozed' })).toEqual(['sig_2', 'sig_1']);
      expect(await listed(store, { state: 'snoozed', now: T0 + HOUR })).toEqual([]);
      expect(await listed(store, { state: 'open', now: T0 + HOUR })).toHaveLength(5);
      await store.triageSignals('ten_a', ['sig_1'], { snoozedUntil: null });
      expect(await listed(store, { state: 'snoozed' })).toEqual(['sig_2']);
    });

    test('an assignment can be combined with other filters and survives a snooze', async () => {
      const { store } = await openWithFive(open);
      const ids = ['sig_1', 'sig_2', 'sig_4'];
      await store.triageSignals('ten_a', ids, { assignee: 'ida@acme.example' });
      await store.triageSignals('ten_a', ['sig_2'], { snoozedUntil: T0 + HOUR });
      await judge(store, 'sig_4');
      const mine = { assignee: 'ida@acme.example' };
      expect(await listed(store, mine)).toEqual(['sig_4', 'sig_2', 'sig_1']);
      expect(await listed(store, { ...mine, state: 'open' })).toEqual(['sig_1']);
      expect(await listed(store, { ...mine, state: 'snoozed' })).toEqual(['sig_2']);
      expect(await listed(store, { ...mine, state: 'done' })).toEqual(['sig_4']);
      expect(await listed(store, mine, { classifications: ['hot'] })).toEqual(['sig_2', 'sig_1']);
      expect(await listed(store, mine, { q: 'words 3' })).toEqual(['sig_4']);
      expect(await listed(store, mine, { sort: '-icp_score' })).toEqual(['sig_1', 'sig_2', 'sig_4']);
      expect(await listed(store, { assignee: 'nobody@acme.example' })).toEqual([]);
      expect(await store.listTriage('ten_a', ['sig_2', 'sig_4', 'sig_5', 'sig_of_b'])).toEqual(
        expect.arrayContaining([
          { signalId: 'sig_2', relevant: null, ...mine, snoozedUntil: T0 + HOUR },
          { signalId: 'sig_4', relevant: true, ...mine, snoozedUntil: null },
          { signalId: 'sig_5', relevant: null, assignee: '', snoozedUntil: null },
        ]),
      );
    });

    test.each(['-timestamp', 'timestamp', '-icp_score'] as const)(
      'pages open signals by %s',
      async (sort) => {
        const { store } = await openWithFive(open);
        await judge(store, 'sig_3');
        for (const classifications of [[], ['hot', 'warm']] as const) {
          const query = { sort, limit: 2, classifications: [...classifications] };
          const triage = { state: 'open' as const, assignee: null, now: T0 };
          const first = await store.listSignals('ten_a', { ...ANY, ...query, triage });
          const second = await store.listSignals('ten_a', { ...ANY, ...query, triage, after: first.last });
          const ids = [...rowsOf(first), ...rowsOf(second)].map((row) => row.signal_id);
          const byTime = ['sig_1', 'sig_2', 'sig_4', 'sig_5'];
          expect(ids).toEqual(sort === '-timestamp' ? byTime.reverse() : byTime);
          expect(second.last).toBeNull();
        }
      },
    );

    test("does not find another tenant's signals", async () => {
      const { store } = await openWithFive(open);
      expect(await store.triageSignals('ten_a', ['sig_of_b', 'sig_none'], { assignee: 'x' })).toBe(0);
      expect(await store.listTriage('ten_a', ['sig_of_b'])).toEqual([]);
    });

    test('deleting a signal deletes its triage', async () => {
      const { store } = await openWithFive(open);
      await store.triageSignals('ten_a', ['sig_1'], { assignee: 'ida@acme.example' });
      await judge(store, 'sig_1');
      await store.deleteSignal('ten_a', 'sig_1', T0);
      expect(await listed(store, { assignee: 'ida@acme.example' })).toEqual([]);
    });

    test('stores views by name, per tenant', async () => {
      const { store } = await openWithTenants(open);
      const view = {
        id: 'viw_1',
        tenantId: 'ten_a',
        name: 'Hot',
        query: 'classification=hot',
        createdAt: T0,
      };
      await store.saveSignalView(view);
      await store.saveSignalView({ ...view, id: 'viw_2', query: 'min_score=90' });
      await store.saveSignalView({ ...view, id: 'viw_3', name: 'All' });
      await store.saveSignalView({ ...view, id: 'viw_4', tenantId: 'ten_b' });
      const names = (await store.listSignalViews('ten_a')).map(({ id, name, query }) => [id, name, query]);
      expect(names).toEqual([
        ['viw_3', 'All', 'classification=hot'],
        ['viw_1', 'Hot', 'min_score=90'],
      ]);
      expect(await store.deleteSignalView('ten_b', 'viw_1')).toBe(false);
      expect(await store.deleteSignalView('ten_a', 'viw_1')).toBe(true);
    });

    test('stores a reply template per tenant', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.getReplyTemplate('ten_a')).toBeNull();
      await store.saveReplyTemplate('ten_a', 'Hello');
      await store.saveReplyTemplate('ten_a', 'Hi');
      expect([await store.getReplyTemplate('ten_a'), await store.getReplyTemplate('ten_b')]).toEqual([
        'Hi',
        null,
      ]);
    });
  });
}
