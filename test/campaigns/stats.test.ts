import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { campaignStats, type StatsQuery } from '../../src/campaigns/stats.ts';
import {
  CAMPAIGN_EVENT_TYPES,
  type Counted,
  type Counts,
  campaignStatsSchema,
  REPLY_CLASSES,
  type StatsInterval,
} from '../../src/model/campaign.ts';
import type { CampaignStore, NewCampaignEvent } from '../../src/store/campaign-store.ts';
import { aCampaign, aCampaignEvent } from '../support/campaigns.ts';
import { aTenant, openTestStore } from '../support/store.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The parts of a generated event; each person is an email address. */
interface Happening {
  type: NewCampaignEvent['type'];
  at: number;
  person: number;
  step: number | null;
  replyClass: NewCampaignEvent['replyClass'];
  auto: boolean;
}

// Berlin and New York both change their clocks in this range; few people, steps and moments, so that they collide.
const START = Date.UTC(2026, 9, 22);
const happening: fc.Arbitrary<Happening> = fc
  .record({
    type: fc.constantFrom(...CAMPAIGN_EVENT_TYPES),
    at: fc.integer({ min: 0, max: 13 * 48 }).map((halfHours) => START + halfHours * (HOUR / 2)),
    person: fc.nat(6),
    step: fc.constantFrom(null, 1, 2, 3),
    replyClass: fc.constantFrom(null, ...REPLY_CLASSES),
    auto: fc.boolean(),
  })
  .map((event) => ({
    ...event,
    replyClass: event.type === 'replied' ? event.replyClass : null,
    auto: event.type === 'replied' && (event.auto || event.replyClass === 'out_of_office'),
  }));

const bound = fc.option(fc.integer({ min: -2 * 24, max: 15 * 24 }).map((hours) => START + hours * HOUR));
const query: fc.Arbitrary<StatsQuery> = fc
  .record({
    from: bound,
    to: bound,
    interval: fc.constantFrom<StatsInterval | null>(null, 'day', 'week'),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'America/Havana', 'Asia/Kathmandu'),
  })
  .filter(({ from, to }) => from === null || to === null || from < to);

/* The independent computation: arrays, filters and sets; dates by Intl. It shares no code with the product. */

const nameOf = (event: Happening): Counted =>
  event.type === 'replied' && event.auto ? 'auto_replied' : event.type;

function expectedCounts(events: Happening[]): Counts {
  const names: Counted[] = [...CAMPAIGN_EVENT_TYPES, 'auto_replied'];
  const entries = names.map((name) => {
    const those = events.filter((event) => nameOf(event) === name);
    return [name, { total: those.length, unique: new Set(those.map((event) => event.person)).size }];
  });
  return Object.fromEntries(entries);
}

function expectedSummary(events: Happening[]) {
  const people = (...types: Counted[]) =>
    new Set(events.filter((event) => types.includes(nameOf(event))).map((event) => event.person)).size;
  const share = (part: number, whole: number) => (whole === 0 ? null : Math.min(part / whole, 1));
  const contacted = people('sent', 'delivered');
  return {
    recipients_contacted: contacted,
    counts: expectedCounts(events),
    rates: {
      delivery: share(people('delivered'), people('sent')),
      bounce: share(people('bounced'), people('sent')),
      open: share(people('opened'), people('delivered')),
      click: share(people('clicked'), people('delivered')),
      reply: share(people('replied'), people('delivered')),
      unsubscribe: share(people('unsubscribed'), people('delivered')),
      meeting: share(people('meeting'), contacted),
    },
  };
}

/** Returns the first day of the bucket that a moment belongs to. */
function dateOf(ms: number, interval: StatsInterval, timeZone: string): string {
  const day = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(ms);
  if (interval === 'day') return day;
  const noon = Date.parse(`${day}T12:00:00Z`);
  const sinceMonday = (new Date(noon).getUTCDay() + 6) % 7;
  return new Date(noon - sinceMonday * DAY).toISOString().slice(0, 10);
}

/** A store for many campaigns, because opening one takes longer than all the counting. */
async function openCampaigns() {
  const { store } = await openTestStore();
  onTestFinished(store.close);
  await store.createTenant(aTenant('ten_a'));
  let made = 0;
  return async (events: Happening[]) => {
    const campaign = aCampaign('ten_a', {
      id: `cam_${made++}`,
      settings: { ...aCampaign('ten_a').settings, steps: [{ step: 2, name: 'Reminder' }] },
    });
    await store.createCampaign(campaign, []);
    await store.recordCampaignEvents(
      campaign,
      events.map(({ at, person, ...event }, index) =>
        aCampaignEvent(`k${index}`, { ...event, occurredAt: at, email: `person-${person}@acme.com` }),
      ),
    );
    return (asked: StatsQuery) => campaignStats(store, campaign, asked);
  };
}

test('all statistics match an independent computation for any range and time zone', async () => {
  const campaignOf = await openCampaigns();
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 60 }), query, async (events, asked) => {
      const stats = await (await campaignOf(events))(asked);
      expect(campaignStatsSchema.parse(stats)).toEqual(stats);

      const { from, to, timezone } = asked;
      const within = events.filter(({ at }) => (from === null || at >= from) && (to === null || at < to));
      expect(stats).toMatchObject(expectedSummary(within));

      for (const name of [...REPLY_CLASSES, null]) {
        const those = within.filter((event) => event.type === 'replied' && event.replyClass === name);
        expect(stats.replies_by_class[name ?? 'unclassified']).toEqual({
          total: those.length,
          unique: new Set(those.map((event) => event.person)).size,
        });
      }

      const steps = [1, 2, 3, null].filter(
        (step) => step === 2 || within.some((event) => event.step === step),
      );
      expect(stats.by_step).toEqual(
        steps.map((step) => ({
          step,
          name: step === 2 ? 'Reminder' : null,
          ...expectedSummary(within.filter((event) => event.step === step)),
        })),
      );

      const interval = asked.interval ?? 'day';
      const byDate = Map.groupBy(within, ({ at }) => dateOf(at, interval, timezone));
      for (const { date, counts } of stats.series) {
        expect(counts).toEqual(expectedCounts(byDate.get(date) ?? []));
      }
      const dates = stats.series.map(({ date }) => date);
      expect(dates).toEqual(expect.arrayContaining([...byDate.keys()]));
      if (from !== null && to !== null) {
        expect([dates[0], dates.at(-1)]).toEqual([from, to - 1].map((ms) => dateOf(ms, interval, timezone)));
      }
      const stepMs = interval === 'day' ? DAY : 7 * DAY;
      const first = Date.parse(dates[0] ?? '2026-01-01');
      expect(dates).toEqual(
        dates.map((_, index) => new Date(first + index * stepMs).toISOString().slice(0, 10)),
      );
    }),
    { numRuns: 150 },
  );
});

test('each hour of the day when the clock is set back belongs to that day only', async () => {
  // 25 October 2026 in Berlin: from 22:00 UTC of the day before until 23:00 UTC.
  const midnight = Date.UTC(2026, 9, 24, 22);
  const events = Array.from({ length: 27 }, (_, hour): Happening => {
    const at = midnight + (hour - 1) * HOUR;
    return { type: 'opened', at, person: 0, step: null, replyClass: null, auto: false };
  });
  const stats = await (await (await openCampaigns())(events))({
    from: null,
    to: null,
    interval: 'day',
    timezone: 'Europe/Berlin',
  });
  expect(stats.series.map(({ date, start, end, counts }) => [date, start, end, counts.opened.total])).toEqual(
    [
      ['2026-10-24', '2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', 1],
      ['2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z', 25],
      ['2026-10-26', '2026-10-25T23:00:00.000Z', '2026-10-26T23:00:00.000Z', 1],
    ],
  );
});

test('a campaign without events has zero counts, no rates and no series', async () => {
  const ask = await (await openCampaigns())([]);
  const stats = await ask({ from: null, to: null, interval: 'day', timezone: 'UTC' });
  expect(stats).toMatchObject({ from: null, to: null, interval: null, series: [], recipients_contacted: 0 });
  expect(Object.values(stats.rates)).toEqual(Array(7).fill(null));
  expect(Object.values(stats.counts)).toEqual(Array(9).fill({ total: 0, unique: 0 }));
  expect(stats.by_step.map(({ step, name }) => [step, name])).toEqual([[2, 'Reminder']]);
});

test('without an interval the series is daily, weekly when too long for days, and omitted for centuries', async () => {
  const event = (at: number): Happening => ({
    type: 'sent',
    at,
    person: 0,
    step: null,
    replyClass: null,
    auto: false,
  });
  const campaignOf = await openCampaigns();
  const lifeOf = async (days: number) => {
    const ask = await campaignOf([event(START), event(START + (days - 1) * DAY)]);
    const { interval, series, counts } = await ask({ from: null, to: null, interval: null, timezone: 'UTC' });
    return [interval, series.length, counts.sent.total];
  };
  expect(await lifeOf(400)).toEqual(['day', 400, 2]);
  expect(await lifeOf(401)).toEqual(['week', 58, 2]);
  expect(await lifeOf(3_000)).toEqual([null, 0, 2]);
});

test('counting works for any number of events', async () => {
  const many = Array.from({ length: 12_000 }, (_, index): Happening => {
    return {
      type: 'sent',
      at: START + (index % 7),
      person: index % 1_000,
      step: 1,
      replyClass: null,
      auto: false,
    };
  });
  const stats = await (await (await openCampaigns())(many))({
    from: null,
    to: null,
    interval: null,
    timezone: 'UTC',
  });
  expect(stats.counts.sent).toEqual({ total: 12_000, unique: 1_000 });
});

/** Three pages of events, each of which takes longer to count than tasks may take of a turn of the event loop. */
function longCount(asked: (campaignId: string, isFirst: boolean) => void): CampaignStore {
  let pages = 0;
  const page = Array.from({ length: 5_000 }, () => ({
    type: 'sent',
    occurredAt: START,
    recipient: 1,
    step: null,
  }));
  return {
    getCampaignSpan: async () => ({ first: START, last: START }),
    async listCampaignEvents(campaignId: string, { after }: { after: unknown }) {
      asked(campaignId, after === null);
      for (const since = performance.now(); performance.now() - since < 6; );
      return ++pages > 3 ? [] : page;
    },
  } as unknown as CampaignStore;
}

const WHOLE: StatsQuery = { from: null, to: null, interval: null, timezone: 'UTC' };

test('counts of several tenants take turns: otherwise, each would take a part of every turn of the event loop', async () => {
  const turns: number[] = [];
  const store = () =>
    longCount((_, isFirst) => {
      if (!isFirst) turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
    });
  await Promise.all(
    ['a', 'b', 'c'].map((id) => campaignStats(store(), aCampaign(`ten_${id}`, { id }), WHOLE)),
  );
  expect(turns).toHaveLength(9);
  expect(new Set(turns).size).toBe(9);
});

test('counts of one tenant do not run at the same time', async () => {
  const asked: string[] = [];
  const count = (id: string) =>
    campaignStats(
      longCount((of) => asked.push(of)),
      aCampaign('ten_a', { id }),
      WHOLE,
    );
  await Promise.all([count('a'), count('b')]);
  expect(asked.join('')).toBe('aaaabbbb');
});

test('counts of few events that waited for one another run in turns of the event loop', async () => {
  const turns: number[] = [];
  const store = {
    getCampaignSpan: async () => ({ first: START, last: START }),
    async listCampaignEvents() {
      turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
      for (const since = performance.now(); performance.now() - since < 6; );
      return [];
    },
  } as unknown as CampaignStore;
  await Promise.all(
    ['a', 'b', 'c', 'd'].map((id) => campaignStats(store, aCampaign('ten_a', { id }), WHOLE)),
  );
  expect(new Set(turns).size).toBe(4);
});
