import { expect, test } from 'vitest';
import { recordEvents } from '../../src/campaigns/campaigns.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { Campaign, CampaignEventInput } from '../../src/model/campaign.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import type { NewCampaignEvent } from '../../src/store/campaign-store.ts';
import { countDeliveries } from '../../src/store/changes/event-bundles.ts';
import type { Receiver } from '../../src/store/endpoint-store.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { aTenant } from '../support/store.ts';

const CAMPAIGN = { id: 'cam_1', tenantId: 'ten_1', name: 'Spring' } as Campaign;

/** A store with this many endpoints that are subscribed to replies; `commits` has the events of each commit. */
function world(endpoints: number, answer = (events: NewCampaignEvent[]) => events.length) {
  const settings = webhookInputSchema.parse({ event_types: ['reply.classified'] });
  const receivers = Array.from({ length: endpoints }, (_, n) => {
    return { id: `whk_${n}`, mode: 'push', settings, shape: null } as Receiver;
  });
  const commits: NewCampaignEvent[][] = [];
  const store = {
    getTenant: async () => aTenant('ten_1').tenant,
    countStored: async () => ({ signals: 0, leads: 0, campaignEvents: 0 }),
    listReceivers: async () => receivers,
    completePeople: async (_: string, people: object[]) => people,
    recordCampaignEvents: async (_: Campaign, events: NewCampaignEvent[]) => {
      commits.push(events);
      return Array.from({ length: answer(events) }, () => 'created');
    },
  };
  const clock = createManualClock();
  const deps = { store, clock, newId: createIds(clock, systemRandom) };
  return { deps: deps as unknown as Parameters<typeof recordEvents>[0], commits, clock };
}

const event = (n: number, reply: object = {}): CampaignEventInput =>
  ({
    event_id: `e${n}`,
    type: 'sent',
    occurred_at: 0,
    email: 'a@example.com',
    ...reply,
  }) as CampaignEventInput;
const replies = (count: number) =>
  Array.from({ length: count }, (_, n) => event(n, { type: 'replied', reply_class: 'interested' }));

test('replies to many endpoints are stored in several commits of 250 deliveries', async () => {
  const { deps, commits } = world(62);
  expect(await recordEvents(deps, CAMPAIGN, replies(10))).toHaveLength(10);
  const deliveries = commits.map((events) =>
    events.reduce((sum, { events: [first] }) => sum + (first === undefined ? 0 : countDeliveries(first)), 0),
  );
  expect(deliveries).toEqual([248, 248, 124]);
  expect(new Set(commits.flat().map(({ key }) => key)).size).toBe(10);
});

test('events without a reply share a commit', async () => {
  const { deps, commits } = world(5_000);
  const inputs = Array.from({ length: 1_000 }, (_, n) => event(n));
  expect(await recordEvents(deps, CAMPAIGN, [...inputs, ...replies(2)])).toHaveLength(1_002);
  expect(commits.map((events) => events.length)).toEqual([1_001, 1]);
});

test('a repeated request continues after what its first run stored, whatever the size of its commits', async () => {
  const { deps, commits } = world(62, (events) => Math.min(events.length, 1));
  expect(await recordEvents(deps, CAMPAIGN, replies(3))).toHaveLength(3);
  expect(commits.map((events) => events.length)).toEqual([3, 2, 1]);
});

test('a batch that takes too long ends between two commits, with an error that says to send it again', async () => {
  const { deps, commits, clock } = world(2_000, (events) => {
    clock.advance(31_000);
    return events.length;
  });
  await expect(recordEvents(deps, CAMPAIGN, replies(9))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('send it again to continue'),
  });
  expect(commits).toHaveLength(3);
  expect(await recordEvents(deps, CAMPAIGN, replies(2))).toHaveLength(2);
});
