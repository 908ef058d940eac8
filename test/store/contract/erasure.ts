import { describe, expect, test } from 'vitest';
import type { LeadErasure } from '../../../src/store/erasure-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aLead, aLeadUpdate, aMove, aNewLead } from '../../support/leads.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

/** The erasure of a newly created lead that is mentioned nowhere else. */
export function anErasure(overrides: Partial<LeadErasure> = {}): LeadErasure {
  return {
    tenantId: 'ten_a',
    leadId: 'led_1',
    expectedVersion: 1,
    keys: ['email:led_1@acme.com'],
    authorships: 0,
    lastSignal: '',
    signals: [],
    eventIds: [],
    texts: [],
    mentions: { texts: [], names: [] },
    mentioning: { signals: [], leads: [], events: [] },
    ...overrides,
  };
}

/**
 * Runs an erasure to its end; returns the endpoints whose waiting deliveries changed, or null if the data found has
 * changed.
 */
export async function erase(store: Store, erasure: LeadErasure): Promise<string[] | null> {
  if (!(await store.eraseLead(erasure))) return null;
  const { tenantId, leadId } = erasure;
  const endpointIds: string[] = [];
  for (let pieces = 0; pieces < 1_000; pieces++) {
    const piece = await store.continueErasure({ tenantId, leadId });
    endpointIds.push(...piece.endpointIds);
    if (piece.isDone) return endpointIds;
  }
  throw new Error('The erasure does not end.');
}

/** The parts of a signal that the erasure reads. */
const wireOf = (excerpt: string) =>
  JSON.stringify({
    prospect: { name: '', email: '', linkedin_url: '' },
    platform: { name: 'forum', post_url: '' },
    excerpt,
    external_id: null,
  });

const EXPLANATION = JSON.stringify({ score: 80, factors: [], negatives: [], summary: 'Asks for it.' });

export function describeErasure(open: OpenStore): void {
  describe('erasing a person', () => {
    test('deletes the lead, its identities, tags and history, once', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1', { tags: ['vip'] })));
      expect(await erase(store, anErasure({ tenantId: 'ten_b' }))).toBeNull();
      expect(await erase(store, anErasure())).toEqual([]);
      expect(await store.getLead('ten_a', 'led_1')).toBeNull();
      expect(await store.findIdentities('ten_a', ['email:led_1@acme.com'])).toMatchObject([{ leadId: null }]);
      expect((await store.pageStageMoves('led_1', { after: null, limit: 10 })).rows).toEqual([]);
      expect(await erase(store, anErasure())).toBeNull();
    });

    test('changes nothing if the lead has changed since it was read', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      await store.commitLead(aLeadUpdate('ten_a', aLead('led_1', { title: 'CTO' })));
      expect(await erase(store, anErasure())).toBeNull();
      expect(await store.getLead('ten_a', 'led_1')).toMatchObject({ version: 2 });
    });

    test('changes nothing if the person has a signal that was not read', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      // Found by a key that the lead itself lacks.
      const keys = ['email:led_1@acme.com', 'linkedin:in/x'];
      const signal = aSignal('ten_a', {
        id: 'sig_1',
        personKeys: ['linkedin:in/x'],
        wire: wireOf('Looking for it.'),
        explanation: EXPLANATION,
      });
      await store.commitSignals([signal]);
      expect(await erase(store, anErasure({ keys }))).toBeNull();
      expect(await store.getSignal('ten_a', 'sig_1')).toMatchObject({ text: signal.text });

      const found = { authorships: 1, lastSignal: 'sig_1' };
      expect(await erase(store, anErasure({ keys, ...found }))).toEqual([]);
      const left = await store.getSignal('ten_a', 'sig_1');
      expect(left).toMatchObject({ text: '' });
      expect(JSON.parse(left?.wire ?? '')).toMatchObject({ excerpt: '' });
      expect(JSON.parse(left?.explanation ?? '')).toMatchObject({
        score: 80,
        summary: expect.stringContaining('erased'),
      });
      for (const key of keys)
        expect((await store.pageSignalsOfPerson('ten_a', key, { limit: 9, after: null })).rows).toEqual([]);
    });

    test('compares the number of signals, and the last one', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const key = 'email:led_1@acme.com';
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', personKeys: [key] }),
        aSignal('ten_a', { id: 'sig_2', personKeys: [key] }),
      ]);
      const expectedVersion = (await store.getLead('ten_a', 'led_1'))?.version ?? 0;
      const tries = [
        { authorships: 1, lastSignal: 'sig_2' },
        { authorships: 2, lastSignal: 'sig_1' },
        { authorships: 2, lastSignal: 'sig_2' },
      ];
      const begun: boolean[] = [];
      for (const found of tries)
        begun.push(await store.eraseLead(anErasure({ expectedVersion, keys: [key], ...found })));
      expect(begun).toEqual([false, false, true]);
    });

    test('detaches many signals in pieces, and they can be attached to another lead before', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const key = 'email:led_1@acme.com';
      const ids = Array.from({ length: 1_100 }, (_, n) => `sig_${1_000 + n}`);
      const wire = JSON.stringify({ ...JSON.parse(wireOf('Looking for it.')), icp_score: 80, lead_id: null });
      const post = { personKeys: [key], text: '', wire, explanation: EXPLANATION };
      for (let at = 0; at < ids.length; at += 100)
        await store.commitSignals(ids.slice(at, at + 100).map((id) => aSignal('ten_a', { id, ...post })));
      const version = (await store.getLead('ten_a', 'led_1'))?.version ?? 0;
      const found = { authorships: ids.length, lastSignal: ids.at(-1) ?? '' };
      expect(await store.eraseLead(anErasure({ ...found, keys: [key], expectedVersion: version }))).toBe(
        true,
      );
      const attached = async () =>
        (await store.pageSignalsOfLead('led_1', { limit: 2_000, after: null })).rows.length;
      const authored = async () =>
        (await store.pageSignalsOfPerson('ten_a', key, { limit: 2_000, after: null })).rows.length;
      expect([await attached(), await authored()]).toEqual([600, 600]);
      const [left] = (await store.pageSignalsOfLead('led_1', { limit: 1, after: null })).rows;
      expect(await store.findLeadSignals('ten_a', [left?.id ?? ''])).toMatchObject([{ leadId: null }]);
      const taken = aNewLead('ten_a', aLead('led_2'), { attach: [left?.id ?? ''] });
      expect(await store.commitLead(taken)).toBe(true);
      expect(await store.commitLead(aNewLead('ten_a', aLead('led_3'), { attach: [left?.id ?? ''] }))).toBe(
        false,
      );
      await store.commitSignals([aSignal('ten_a', { id: 'sig_9', personKeys: [key] })]);

      let before = await attached();
      for (let isDone = false, pieces = 0; !isDone && pieces < 500; pieces++) {
        ({ isDone } = await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' }));
        const after = await attached();
        expect(before - after).toBeLessThanOrEqual(500);
        before = after;
      }
      expect(before).toBe(0);
      const kept = await store.getSignal('ten_a', left?.id ?? '');
      expect(JSON.parse(kept?.wire ?? '')).toMatchObject({ lead_id: 'led_2', excerpt: '' });
      expect((await store.pageSignalsOfLead('led_2', { limit: 9, after: null })).rows).toHaveLength(1);
      // A post since then is not part of the erasure.
      expect((await store.pageSignalsOfPerson('ten_a', key, { limit: 9, after: null })).rows).toMatchObject([
        { id: 'sig_9' },
      ]);
    });

    test('runs in pieces of a few posts, and is listed until the last one', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const signals = Array.from({ length: 30 }, (_, n) => `sig_${n}`);
      const post = { text: 'word '.repeat(4_000), wire: wireOf('Looking for it.'), explanation: EXPLANATION };
      await store.commitSignals(signals.map((id) => aSignal('ten_a', { id, ...post })));
      const whole = async () => {
        const found = await Promise.all(signals.map((id) => store.getSignal('ten_a', id)));
        return found.filter((signal) => signal?.text !== '').length;
      };
      expect(await store.eraseLead(anErasure({ signals }))).toBe(true);
      expect(await store.getLead('ten_a', 'led_1')).toBeNull();

      let before = await whole();
      expect(before).toBe(30);
      let pieces = 0;
      for (let isDone = false; !isDone && pieces < 100; pieces++) {
        expect(await store.listErasures(10)).toEqual([{ tenantId: 'ten_a', leadId: 'led_1' }]);
        ({ isDone } = await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' }));
        const after = await whole();
        expect(before - after).toBeLessThanOrEqual(5);
        before = after;
      }
      expect(before).toBe(0);
      expect(pieces).toBeGreaterThan(6);
      expect(await store.listErasures(10)).toEqual([]);
      const again = await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' });
      expect(again).toEqual({ endpointIds: [], isDone: true });
    });

    test('discards only waiting deliveries about the person, in any state', async () => {
      const { store, clock } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const events = [aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1', deliveryIds: ['dlv_1'] })];
      const other = [aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_2', deliveryIds: ['dlv_2'] })];
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', events }),
        aSignal('ten_a', { events: other }),
      ]);
      expect(await erase(store, anErasure({ eventIds: ['evt_1'] }))).toEqual(['whk_a']);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ status: 'discarded', body: null });
      expect(await store.getDelivery('ten_a', 'dlv_2')).toMatchObject({ status: 'pending' });
      const [claim] = await store.claimDeliveries({
        lanes: [{ endpointId: 'whk_a', limit: 10, knownVersion: 1, held: [] }],
        now: clock.now(),
        leaseUntil: clock.now() + 1_000,
        leaseToken: 'lease',
      });
      expect(claim?.deliveries.map(({ id }) => id)).toEqual(['dlv_2']);
      // A process that has claimed deliveries learns that they are outdated.
      expect(claim?.endpoint).toMatchObject({ version: 2 });
    });

    test('deleting a signal deletes everything about it, a few deliveries at a time', async () => {
      const { store } = await openWithTenants(open);
      const endpoints = Array.from({ length: 319 }, (_, n) => `whk_${n}`);
      for (const id of endpoints) await store.createEndpoint(anEndpoint('ten_a', { id }), null);
      const all = ['whk_a', ...endpoints];
      const deliveryIds = all.map((id) => `dlv_${id}`);
      const events = [aRoutedEvent('ten_a', all, { id: 'evt_1', deliveryIds })].map((routed) => ({
        ...routed,
        event: { ...routed.event, subjectId: 'sig_1' },
      }));
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', events }),
        aSignal('ten_a', { id: 'sig_2' }),
      ]);
      expect(await store.deleteSignal('ten_b', 'sig_1', T0)).toBe(false);
      expect(await store.deleteSignal('ten_a', 'sig_1', T0)).toBe(true);
      expect(await store.deleteSignal('ten_a', 'sig_1', T0)).toBe(false);
      expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();

      const [pending] = await store.listErasures(10);
      expect(pending).toEqual({ tenantId: 'ten_a', leadId: 'sig_1' });
      const changed: string[] = [];
      for (let isDone = false, pieces = 0; !isDone && pieces < 100; pieces++) {
        const piece = await store.continueErasure({ tenantId: 'ten_a', leadId: 'sig_1' });
        expect(piece.endpointIds.length).toBeLessThanOrEqual(150);
        changed.push(...piece.endpointIds);
        isDone = piece.isDone;
      }
      expect(changed.sort()).toEqual(all.sort());
      for (const id of deliveryIds)
        expect(await store.getDelivery('ten_a', id)).toMatchObject({ status: 'discarded', body: null });
      expect(await store.listErasures(10)).toEqual([]);
      expect(await store.getSignal('ten_a', 'sig_2')).not.toBeNull();
    });

    test("keeps another tenant's events, even if they are named", async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const events = [aRoutedEvent('ten_b', ['whk_b'], { id: 'evt_b', deliveryIds: ['dlv_b'] })];
      await store.commitSignals([aSignal('ten_b', { events })]);
      expect(await erase(store, anErasure({ eventIds: ['evt_b'] }))).toEqual([]);
      expect(await store.getDelivery('ten_b', 'dlv_b')).toMatchObject({ status: 'pending' });
    });

    test("redacts a mention in another person's post everywhere, and still sends the post", async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const text = 'Ask\nLED_1@acme.com, not xled_1@acme.com.';
      const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })].map((routed) => ({
        ...routed,
        event: { ...routed.event, subjectId: 'sig_1', data: JSON.stringify({ signal_text: text }) },
        deliveries: routed.deliveries.map((one) => ({ ...one, body: JSON.stringify({ excerpt: text }) })),
      }));
      const signal = {
        wire: wireOf(text),
        explanation: JSON.stringify({ summary: text }),
        text,
      };
      await store.commitSignals([
        aSignal('ten_a', { id: 'sig_1', ...signal, events }),
        aSignal('ten_b', { id: 'sig_2', ...signal }),
      ]);
      const mentions = { texts: ['led_1@acme.com'], names: [] };
      const scan = { tenantId: 'ten_a', mentions, limit: 10 };
      const { ids, last } = await store.findSignalsNaming({ ...scan, after: null });
      expect(ids).toEqual(['sig_1']);
      expect(await store.findSignalsNaming({ ...scan, after: last })).toEqual({ ids: [], last: null });
      const found = anErasure({ mentions, mentioning: { signals: ids, leads: [], events: [] } });
      expect(await erase(store, found)).toEqual(['whk_a']);

      const masked = 'Ask\n██████████████, not xled_1@acme.com.';
      expect(await store.getSignal('ten_a', 'sig_1')).toEqual({
        wire: wireOf(masked),
        explanation: JSON.stringify({ summary: masked }),
        text: masked,
      });
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'pending',
        body: JSON.stringify({ excerpt: masked }),
      });
      expect(await store.getSignal('ten_b', 'sig_2')).toEqual(signal);
    });

    test.each(['event', 'signal'])('redacts at most two long bodies of an %s in one piece', async (kind) => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const ids = [1, 2, 3, 4, 5];
      for (const n of ids) await store.createEndpoint(anEndpoint('ten_a', { id: `whk_${n}` }), null);
      const routed = aRoutedEvent(
        'ten_a',
        ids.map((n) => `whk_${n}`),
        { deliveryIds: ids.map((n) => `dlv_${n}`) },
      );
      const event = { ...routed.event, subjectId: 'sig_1', data: '{"by":"Jane Doe"}' };
      const bodyOf = (n: number) => JSON.stringify({ n, by: `Jane Doe ${'x'.repeat(14_000)}` });
      const deliveries = routed.deliveries.map((one, i) => ({ ...one, body: bodyOf(i) }));
      const wire = wireOf('Jane Doe');
      await store.commitSignals([
        aSignal('ten_a', {
          id: 'sig_1',
          wire,
          explanation: EXPLANATION,
          events: [{ event, deliveries, skipped: [], batched: [] }],
        }),
      ]);
      const mentions = { texts: [], names: ['Jane Doe'] };
      const signals = kind === 'signal' ? ['sig_1'] : [];
      const events = kind === 'event' ? [event.id] : [];
      await store.eraseLead(anErasure({ mentions, mentioning: { signals, leads: [], events } }));
      const countMasked = async () => {
        const bodies = ids.map(async (n) => (await store.getDelivery('ten_a', `dlv_${n}`))?.body ?? '');
        return (await Promise.all(bodies)).filter((body) => body.includes('"████████ xxx')).length;
      };
      const endpointIds: string[] = [];
      let masked = 0;
      for (let isDone = false; !isDone; ) {
        const piece = await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' });
        isDone = piece.isDone;
        endpointIds.push(...piece.endpointIds);
        const now = await countMasked();
        expect(now - masked).toBeLessThanOrEqual(2);
        masked = now;
      }
      expect(masked).toBe(5);
      expect(endpointIds.sort()).toEqual(ids.map((n) => `whk_${n}`));
    });

    test('scans events in ranges, in order of time', async () => {
      const { store } = await openWithTenants(open);
      const said = (id: string, data: string, createdAt: number) => {
        const routed = aRoutedEvent('ten_a', [], { id, createdAt });
        return { ...routed, event: { ...routed.event, type: 'digest.ready' as const, data } };
      };
      await store.commitSignals([
        aSignal('ten_a', {
          events: [
            said('evt_1', '{"to":"Jane@Acme.com"}', T0),
            said('evt_2', '{"to":"mary-jane@acme.com","of":"Jane  DOE"}', T0 + 1),
            said('evt_3', '{"signals":["sig_1"]}', T0 + 2),
            said('evt_5', '{"signals":["sig_10"]}', T0 + 3),
          ],
        }),
        aSignal('ten_b', { events: [aRoutedEvent('ten_b', [], { id: 'evt_4' })] }),
      ]);
      const scan = {
        tenantId: 'ten_a',
        mentions: { texts: ['jane@acme.com'], names: ['Jane Doe'], signalIds: new Set(['sig_1']) },
        limit: 2,
      };
      const first = await store.findEventsNaming({ ...scan, after: null });
      expect(first).toEqual({ ids: ['evt_1'], named: ['evt_2'], last: [T0 + 1, 'evt_2'] });
      const second = await store.findEventsNaming({ ...scan, after: first.last });
      expect(second).toEqual({ ids: ['evt_3'], named: [], last: [T0 + 3, 'evt_5'] });
      expect(await store.findEventsNaming({ ...scan, after: second.last })).toEqual({
        ids: [],
        named: [],
        last: null,
      });
    });

    test('a piece of an erasure empties at most five signals', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      const signals = Array.from({ length: 20 }, (_, i) => `sig_${i}`);
      const signal = { wire: wireOf('Wanted'), explanation: EXPLANATION, text: 'Wanted' };
      for (const id of signals) await store.commitSignals([aSignal('ten_a', { id, ...signal })]);
      const countLeft = async () => {
        const texts = await Promise.all(
          signals.map(async (id) => (await store.getSignal('ten_a', id))?.text),
        );
        return texts.filter((text) => text !== '').length;
      };
      await store.eraseLead(anErasure({ signals }));
      let left = await countLeft();
      for (let isDone = false; !isDone; ) {
        ({ isDone } = await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' }));
        const now = await countLeft();
        expect(left - now).toBeLessThanOrEqual(5);
        left = now;
      }
      expect(left).toBe(0);
    });

    test('the moves of a lead are redacted a few at a time', async () => {
      const { store } = await openWithTenants(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      await store.commitLead(aNewLead('ten_a', aLead('led_2')));
      for (let i = 1; i <= 120; i++) {
        const move = { ...aMove('new', 'new'), reason: i % 60 === 0 ? 'Jane Doe called' : 'called' };
        await store.commitLead(aLeadUpdate('ten_a', aLead('led_2'), { expectedVersion: i, move }));
      }
      const mentions = { texts: [], names: ['Jane Doe'] };
      await store.eraseLead(
        anErasure({ mentions, mentioning: { signals: [], leads: ['led_2'], events: [] } }),
      );
      let pieces = 0;
      while (!(await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_1' })).isDone) pieces++;
      expect(pieces).toBeGreaterThanOrEqual(2);
      const { rows } = await store.pageStageMoves('led_2', { after: null, limit: 200 });
      expect(rows.filter(({ reason }) => reason === '████████ called')).toHaveLength(2);
      expect(rows.filter(({ reason }) => reason === 'called')).toHaveLength(118);
    });

    test('a range of a scan ends after fifty thousand characters', async () => {
      const { store } = await openWithTenants(open);
      const long = (name: string) => `${name} ${'x'.repeat(39_000)}`;
      for (const i of [1, 2, 3, 4]) {
        const routed = aRoutedEvent('ten_a', [], { id: `evt_${i}`, createdAt: T0 + i });
        const event = {
          ...routed.event,
          type: 'digest.ready' as const,
          data: `{"to":"${long('Jane Doe')}"}`,
        };
        await store.commitSignals([
          aSignal('ten_a', { id: `sig_${i}`, text: long('Jane Doe'), events: [{ ...routed, event }] }),
        ]);
      }
      const scan = { tenantId: 'ten_a', limit: 50, after: null };
      const mentions = { texts: [], names: ['Jane Doe'] };
      const first = await store.findSignalsNaming({ ...scan, mentions });
      expect(first.ids).toEqual(['sig_1', 'sig_2']);
      const second = await store.findSignalsNaming({ ...scan, mentions, after: first.last });
      expect(second.ids).toEqual(['sig_3', 'sig_4']);
      const { named, last } = await store.findEventsNaming({
        ...scan,
        mentions: { ...mentions, signalIds: new Set() },
      });
      expect([named, last]).toEqual([
        ['evt_1', 'evt_2'],
        [T0 + 2, 'evt_2'],
      ]);
    });
  });
}
