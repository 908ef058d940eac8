import { describe, expect, test } from 'vitest';
import { toIso } from '../../../src/lib/clock.ts';
import { parseBytes } from '../../../src/lib/json.ts';
import type { Lead } from '../../../src/model/lead.ts';
import { aLead, aLeadUpdate, aMove, aNewLead } from '../../support/leads.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeLeads(open: OpenStore): void {
  describe('leads', () => {
    test('stores a new lead with its identity, first stage change and events', async () => {
      const { store } = await openWithTenants(open);
      const lead = aLead('led_1');
      const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })];
      expect(await store.commitLead(aNewLead('ten_a', lead, { events }))).toBe(true);

      expect(await store.getLead('ten_a', 'led_1')).toEqual({ lead, version: 1 });
      expect(await store.getLead('ten_b', 'led_1')).toBeNull();
      expect(await store.findIdentities('ten_a', ['email:led_1@acme.com', 'email:x@acme.com'])).toEqual([
        { key: 'email:led_1@acme.com', leadId: 'led_1' },
        { key: 'email:x@acme.com', leadId: null },
      ]);
      expect(await store.findIdentities('ten_b', ['email:led_1@acme.com'])).toEqual([
        { key: 'email:led_1@acme.com', leadId: null },
      ]);
      expect(await store.pageStageMoves('led_1', { after: null, limit: 10 })).toEqual({
        rows: [{ ...aMove(null, 'new'), position: 1 }],
        last: null,
      });
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ status: 'pending' });
    });

    test('creates only one of two leads with one identity, and stores nothing of the other', async () => {
      const { store } = await openWithTenants(open);
      const make = (id: string) =>
        store.commitLead(
          aNewLead('ten_a', aLead(id, { email: 'same@acme.com' }), {
            events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [`dlv_${id}`] })],
          }),
        );
      const results = await Promise.all([make('led_1'), make('led_2')]);
      expect(results.filter(Boolean)).toHaveLength(1);
      const loser = results[0] ? 'led_2' : 'led_1';
      expect(await store.getLead('ten_a', loser)).toBeNull();
      expect(await store.getDelivery('ten_a', `dlv_${loser}`)).toBeNull();
    });

    test('a change applies only to the version it is based on', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const changes = ['first', 'second'].map((title) =>
        store.commitLead(aLeadUpdate('ten_a', aLead('led_1', { title }))),
      );
      expect(await Promise.all(changes)).toEqual([true, false]);
      expect(await store.getLead('ten_a', 'led_1')).toMatchObject({ version: 2, lead: { title: 'first' } });
    });

    test("a tenant cannot change another's lead", async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      expect(await store.commitLead(aLeadUpdate('ten_b', aLead('led_1', { title: 'x' })))).toBe(false);
    });

    test('identities follow the lead, and those of another lead stay with it', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1'), { keys: ['email:1', 'name:jane@acme.com'] }));
      await store.commitLead(aNewLead('ten_a', aLead('led_2'), { keys: ['email:2', 'name:jane@acme.com'] }));
      await store.commitLead(
        aLeadUpdate('ten_a', aLead('led_2'), { keys: ['email:3', 'name:jane@acme.com'] }),
      );
      const keys = ['email:1', 'email:2', 'email:3', 'name:jane@acme.com'];
      const holders = await store.findIdentities('ten_a', keys);
      expect(holders.map(({ leadId }) => leadId)).toEqual(['led_1', null, 'led_2', 'led_1']);
    });

    test('an attached signal names its lead and cannot be attached to a second one', async () => {
      const { store } = await openWithTenants(open);
      const wire = JSON.stringify({ signal_id: 'sig_1', lead_id: null });
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1', wire })]);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_1'), { attach: ['sig_1'] }))).toBe(true);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_2'), { attach: ['sig_1'] }))).toBe(false);
      const shown = { signal_id: 'sig_1', lead_id: 'led_1' };
      expect(JSON.parse((await store.getSignal('ten_a', 'sig_1'))?.wire ?? '')).toEqual(shown);
      expect((await store.listSignalsOfLead('led_1', 10)).map((text) => JSON.parse(text))).toEqual([
        { ...shown, explanation: { score: 80 } },
      ]);
      expect(await store.listScoresOfLead('led_1', 10)).toEqual([{ profileId: 'icp_ten_a', score: 80 }]);
      expect(await store.findLeadSignals('ten_a', ['sig_1', 'sig_none'])).toMatchObject([
        { id: 'sig_1', leadId: 'led_1' },
      ]);
      expect(await store.findLeadSignals('ten_b', ['sig_1'])).toEqual([]);
    });

    test("does not attach another tenant's signal", async () => {
      const { store } = await openWithTenants(open);
      await store.commitSignals([aSignal('ten_b', { id: 'sig_1' })]);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_1'), { attach: ['sig_1'] }))).toBe(false);
    });

    test('stores a new signal with its lead, unless the signal is already known', async () => {
      const { store } = await openWithTenants(open);
      const signal = aSignal('ten_a', { id: 'sig_1', externalId: 'p1' });
      expect(await store.findKnownSignals([signal])).toEqual([null]);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_1'), { newSignals: [signal] }))).toBe(true);
      const again = aSignal('ten_a', { id: 'sig_2', externalId: 'p1' });
      expect(await store.findKnownSignals([again])).toEqual(['sig_1']);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_2'), { newSignals: [again] }))).toBe(false);
      expect(await store.getSignal('ten_a', 'sig_2')).toBeNull();
      expect(await store.getLead('ten_a', 'led_2')).toBeNull();
    });

    test("finds a person's signals by any key", async () => {
      const { store } = await openWithTenants(open);
      const personKeys = ['email:a@acme.com', 'linkedin:in/a'];
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', personKeys, timestamp: T0 }),
        aSignal('ten_a', { id: 'sig_2', personKeys: ['linkedin:in/a'], timestamp: T0 + 1 }),
        aSignal('ten_a', { id: 'sig_3', personKeys: ['email:b@acme.com'] }),
        aSignal('ten_b', { id: 'sig_4', personKeys }),
      ]);
      const page = (key: string, limit: number, after: string | null = null) =>
        store.pageSignalsOfPerson('ten_a', key, { limit, after: after === null ? null : [after] });
      expect(await page('email:a@acme.com', 9)).toMatchObject({
        rows: [{ id: 'sig_1', leadId: null, keys: personKeys }],
        last: null,
      });
      expect(await page('linkedin:in/a', 1)).toMatchObject({ rows: [{ id: 'sig_1' }], last: ['sig_1'] });
      expect(await page('linkedin:in/a', 1, 'sig_1')).toMatchObject({ rows: [{ id: 'sig_2' }], last: null });
      const free = async (limit: number) =>
        (await store.findFreeSignalsOfPerson('ten_a', personKeys, limit)).map(({ id }) => id);
      expect([await free(9), await free(1)]).toEqual([['sig_2', 'sig_1'], ['sig_2']]);
      await store.commitLead(aNewLead('ten_a', aLead('led_1'), { attach: ['sig_2'] }));
      expect(await free(9)).toEqual(['sig_1']);
      expect(await store.pageSignalsOfLead('led_1', { limit: 9, after: null })).toMatchObject({
        rows: [{ id: 'sig_2', leadId: 'led_1' }],
        last: null,
      });
    });

    test('a new signal of a known author is attached to their lead, which has the score of its best signal', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const personKeys = ['email:led_1@acme.com'];
      const wire = (id: string, icp_score: number) =>
        JSON.stringify({
          signal_id: id,
          icp_score,
          classification: 'warm',
          timestamp: '2026-01-02T00:00:00.000Z',
          lead_id: null,
        });
      const signals = [
        aSignal('ten_a', { id: 'sig_1', personKeys, wire: wire('sig_1', 60) }),
        aSignal('ten_a', { id: 'sig_2', personKeys, wire: wire('sig_2', 40) }),
        aSignal('ten_b', { id: 'sig_3', personKeys, wire: wire('sig_3', 90) }),
      ];
      const committed = await store.commitSignals(signals);
      expect(committed.map((one) => JSON.parse(one.wire).lead_id)).toEqual(['led_1', 'led_1', null]);
      expect(await store.getLead('ten_a', 'led_1')).toMatchObject({
        version: 2, // stored once for both
        lead: {
          icp_score: 60,
          classification: 'warm',
          signal_count: 2,
          last_signal_at: '2026-01-02T00:00:00.000Z',
        },
      });
      expect(await store.listSignalsOfLead('led_1', 10)).toHaveLength(2);
    });

    test('a lead has the score of its best signal, the hotter one of two, whichever are edited or deleted', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const at = (n: number, score: number, classification: 'hot' | 'warm' | 'cold', text = `Text ${n}`) => {
        const timestamp = T0 + n;
        const wire = {
          ...{ signal_id: `sig_${n}`, icp_score: score, classification, timestamp: toIso(timestamp) },
          ...{ lead_id: null, prospect: {}, platform: {}, company: { domain: '' } },
        };
        const of = { id: `sig_${n}`, externalId: `x${n}`, personKeys: ['email:led_1@acme.com'] };
        return aSignal('ten_a', {
          ...of,
          score,
          classification,
          timestamp,
          text,
          wire: JSON.stringify(wire),
        });
      };
      await store.commitSignals([at(1, 60, 'warm'), at(2, 60, 'hot'), at(3, 30, 'cold'), at(4, 70, 'hot')]);
      const lead = async () => {
        const { icp_score, classification, signal_count, last_signal_at } =
          (await store.getLead('ten_a', 'led_1'))?.lead ?? aLead('none');
        const listed = (await store.listSignalsOfLead('led_1', 3)).map((text) => JSON.parse(text));
        const scores = (await store.listScoresOfLead('led_1', 3)).map(({ score }) => score);
        expect(scores).toEqual(listed.map((signal) => signal.icp_score));
        const ids = listed.map((signal) => signal.signal_id).join(' ');
        return [icp_score, classification, signal_count, last_signal_at, ids];
      };
      expect(await lead()).toEqual([70, 'hot', 4, toIso(T0 + 4), 'sig_4 sig_2 sig_1']);
      await store.deleteSignal('ten_a', 'sig_4', T0);
      expect(await lead()).toEqual([60, 'hot', 3, toIso(T0 + 3), 'sig_2 sig_1 sig_3']);
      await store.editSignals([{ signal: at(2, 20, 'cold', 'Edited.'), now: T0, replacedLength: 6 }]);
      expect(await lead()).toEqual([60, 'warm', 3, toIso(T0 + 3), 'sig_1 sig_3 sig_2']);
      await store.deleteSignal('ten_a', 'sig_1', T0);
      expect(await lead()).toEqual([30, 'cold', 2, toIso(T0 + 3), 'sig_3 sig_2']);
      await store.deleteSignal('ten_a', 'sig_3', T0);
      await store.deleteSignal('ten_a', 'sig_2', T0);
      expect(await lead()).toEqual([null, null, 0, null, '']);
    });

    test('does not attach a signal whose author matches two leads', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      await store.commitLead(aNewLead('ten_a', aLead('led_2'), { keys: ['linkedin:in/a'] }));
      const signal = aSignal('ten_a', { personKeys: ['email:led_1@acme.com', 'linkedin:in/a'] });
      expect(await store.commitSignals([signal])).toMatchObject([{ status: 'created', wire: signal.wire }]);
      expect(await store.findLeadSignals('ten_a', [signal.id])).toMatchObject([{ leadId: null }]);
    });

    test('lists the history newest first, in pages', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      await store.commitLead(aLeadUpdate('ten_a', aLead('led_1'), { move: aMove('new', 'contacted') }));
      await store.commitLead(
        aLeadUpdate('ten_a', aLead('led_1'), { expectedVersion: 2, move: aMove('contacted', 'won') }),
      );
      const first = await store.pageStageMoves('led_1', { after: null, limit: 2 });
      expect(first.rows.map(({ position, current }) => [position, current])).toEqual([
        [3, 'won'],
        [2, 'contacted'],
      ]);
      const rest = await store.pageStageMoves('led_1', { after: first.last, limit: 2 });
      expect([rest.rows.map(({ position }) => position), rest.last]).toEqual([[1], null]);
    });

    test('the board counts every stage, and sums deals of any size by currency', async () => {
      const { store } = await openWithTenants(open);
      const deal = (amount_minor: number, currency: string) =>
        ({ amount_minor, currency, status: 'open', close_date: null }) as const;
      const max = Number.MAX_SAFE_INTEGER;
      const leads = [
        aLead('led_1', { deal: deal(100, 'USD') }),
        aLead('led_2', { deal: deal(250, 'USD') }),
        aLead('led_3', { deal: deal(7, 'EUR') }),
        aLead('led_4'),
        aLead('led_5', { stage: 'won', deal: deal(max, 'JPY') }),
        aLead('led_6', { stage: 'won', deal: deal(max, 'JPY') }),
      ];
      for (const lead of leads) await store.commitLead(aNewLead('ten_a', lead));
      await store.commitLead(aNewLead('ten_b', aLead('led_7')));
      const board = await store.readBoard('ten_a', 2);
      expect(board.map(({ stage, count }) => [stage, count])).toEqual([
        ['new', 4],
        ['contacted', 0],
        ['engaged', 0],
        ['qualified', 0],
        ['proposal', 0],
        ['won', 2],
        ['lost', 0],
      ]);
      expect(board[0]?.value).toEqual([
        { currency: 'EUR', amount_minor: 7, deals: 1 },
        { currency: 'USD', amount_minor: 350, deals: 2 },
      ]);
      expect(board[5]?.value).toEqual([{ currency: 'JPY', amount_minor: 2 * max, deals: 2 }]);
      const { value = [] } = board[0] ?? {};
      expect(await store.sumOpenDeals('ten_a')).toEqual(value);
      expect(await store.sumOpenDeals('ten_b')).toEqual([]);
      const since = { since: 0, most: 5 };
      expect([await store.countLeads('ten_a', since), await store.countLeads('ten_b', since)]).toEqual([
        5, 1,
      ]);
      expect(board[0]?.leads.map((row) => parseBytes<Lead>(row).id)).toEqual(['led_4', 'led_3']);
    });
  });
}
