import { setTimeout } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import type { Signal } from '../../src/model/signal.ts';
import { type ObservedPost, observedPostSchema, signalSchema } from '../../src/model/signal.ts';
import { type WebhookInput, webhookInputSchema } from '../../src/model/webhook.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import type { NewSignal } from '../../src/store/signal-store.ts';
import type { Store } from '../../src/store/store.ts';
import { anEndpoint, aTenant, openTestStore } from '../support/store.ts';

const HOT = 'We are looking for a new booking system this month. Budget is $5k.';
const COLD = 'Nice weather on site, lads.';

let store: Store;
let committed: NewSignal[];
let commits: number[];
/** The duration of each commit of signals. */
let commitMs: number;
/** Notifications of the dispatcher after each commit, and the number of commits by then. */
let nudges: { commits: number; endpointIds: string[] }[];
let observe: (...posts: object[]) => ReturnType<typeof observePosts>;

beforeEach(async () => {
  const opened = await openTestStore();
  committed = [];
  commits = [];
  commitMs = 0;
  nudges = [];
  store = {
    ...opened.store,
    commitSignals(signals) {
      opened.clock.advance(commitMs);
      committed.push(...signals);
      commits.push(signals.length);
      return opened.store.commitSignals(signals);
    },
  };
  store.onCommitted(({ due }) => {
    nudges.push({ commits: commits.length, endpointIds: due.map(({ endpointId }) => endpointId) });
  });
  await store.createTenant(aTenant('ten_a'));
  const deps = {
    store,
    matchers: createMatchers(store),
    clock: opened.clock,
    newId: createIds(opened.clock, systemRandom),
    baseUrl: 'https://sp.example',
  };
  observe = (...posts) =>
    observePosts(
      deps,
      'ten_a',
      posts.map((post) =>
        observedPostSchema.parse({ platform: { name: 'Reddit' }, ...post } as ObservedPost),
      ),
    );
});

async function addEndpoint(id: string, settings: Partial<WebhookInput> = {}) {
  const input = webhookInputSchema.parse({ url: 'https://r.example/', ...settings });
  await store.createEndpoint(anEndpoint('ten_a', { id, settings: input }), null);
}

function deliveriesOf(id: string) {
  return committed.flatMap((signal) =>
    signal.events.flatMap(({ event, deliveries }) =>
      deliveries
        .filter((d) => d.endpointId === id)
        .map((d) => ({ type: event.type, body: JSON.parse(d.body) })),
    ),
  );
}

test('a post creates a signal with every documented member, unknown facts as empty strings', async () => {
  const [result] = await observe({ text: HOT });
  if (result?.status !== 'created') throw new Error('not created');
  const signal = signalSchema.parse(JSON.parse(result.signals[0] ?? ''));
  expect(signal).toMatchObject({
    classification: 'hot',
    signal_type: 'intent_post',
    platform: { name: 'reddit', post_url: '', posted_at: '' },
    prospect: { name: '', title: '', email: '', linkedin_url: '' },
    excerpt: HOT,
    icp_profile_name: 'Default',
    profile_url: `https://sp.example/dashboard/signals/${signal.signal_id}`,
  });
});

test('a cold post creates a signal, too', async () => {
  const [result] = await observe({ text: COLD });
  expect(result).toMatchObject({
    status: 'created',
    signals: [expect.stringContaining('"classification":"cold"')],
  });
});

test('the same post again is a duplicate that returns the first signal and sends nothing', async () => {
  await addEndpoint('whk_1');
  const post = {
    text: HOT,
    platform: { name: 'reddit', post_url: 'https://www.reddit.com/r/a/1/?utm_source=x' },
  };
  const [first] = await observe(post);
  const [again] = await observe({
    ...post,
    platform: { name: 'reddit', post_url: 'https://reddit.com/r/a/1' },
  });
  if (first?.status !== 'created' || again?.status !== 'duplicate') throw new Error('unexpected results');
  expect(again.signals).toEqual(first.signals);
  expect(nudges.map(({ endpointIds }) => endpointIds)).toEqual([['whk_1']]);
});

test('an unknown profile rejects only that post, with a pointer to the error', async () => {
  const results = await observe({ text: HOT, icp_profile_id: 'icp_nobody' }, { text: COLD });
  expect(results.map((result) => result.status)).toEqual(['rejected', 'created']);
  expect(results[0]).toMatchObject({ errors: [{ pointer: '/icp_profile_id' }] });
});

test('signal.detected delivers exactly the members of the payload in the specification', async () => {
  await addEndpoint('whk_1');
  await observe({ text: HOT, external_id: 'x1' });
  expect(deliveriesOf('whk_1').map(({ type, body }) => [type, Object.keys(body)])).toEqual([
    [
      'signal.detected',
      [
        'signal_id',
        'signal_type',
        'classification',
        'icp_score',
        'timestamp',
        'prospect',
        'company',
        'platform',
        'excerpt',
        'icp_profile_name',
        'profile_url',
      ],
    ],
  ]);
});

test('a hot signal also creates signal.new_hot, in the documented envelope', async () => {
  await addEndpoint('whk_1', { event_types: ['signal.new_hot'] });
  await observe({ text: HOT, prospect: { name: 'Ann Bly' } }, { text: COLD });
  expect(deliveriesOf('whk_1')).toEqual([
    {
      type: 'signal.new_hot',
      body: {
        event: 'signal.new_hot',
        tenant_id: 'ten_a',
        data: {
          platform: 'reddit',
          score: 'hot',
          lead_name: 'Ann Bly',
          signal_text: HOT,
          signal_id: committed[0]?.id,
        },
        id: expect.stringMatching(/^evt_/),
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    },
  ]);
});

test('an endpoint whose filters exclude an event records a reason, and its lane is not woken', async () => {
  await addEndpoint('whk_1', { classifications: ['cold'] });
  await observe({ text: HOT });
  expect(nudges.flatMap(({ endpointIds }) => endpointIds)).toEqual([]);
  expect(committed[0]?.events[0]?.skipped).toEqual([{ endpointId: 'whk_1', reason: 'classification' }]);
});

test('the excerpt has at most 500 characters, and the stored text is complete', async () => {
  const text = `${HOT} ${'and so on '.repeat(100)}`;
  const [result] = await observe({ text });
  if (result?.status !== 'created') throw new Error('not created');
  const signal = JSON.parse(result.signals[0] ?? '');
  expect(Array.from(signal.excerpt).length).toBeLessThanOrEqual(500);
  expect(signal.excerpt.endsWith('…')).toBe(true);
  expect((await store.getSignal('ten_a', signal.signal_id))?.text).toBe(text);
});

test('if nothing can be stored, nothing is reported as accepted', async () => {
  store.commitSignals = () => Promise.reject(new Error('disk full'));
  await expect(observe({ text: HOT })).rejects.toThrow('disk full');
});

test('a batch is stored in several commits, so that other changes do not wait for all of it', async () => {
  const posts = Array.from({ length: 60 }, (_, n) => ({
    text: `Wish ${n}: a CRM`,
    platform: { name: 'Reddit', post_url: `https://r.example/${n}` },
  }));
  const results = await observe(...posts, posts[0] ?? {});
  expect(commits).toEqual([25, 25, 11]);
  expect(results.map(({ status }) => status)).toEqual([...posts.map(() => 'created'), 'duplicate']);
});

test('the dispatcher is notified of each commit of a batch immediately', async () => {
  await addEndpoint('whk_1');
  await observe(
    ...Array.from({ length: 60 }, (_, n) => ({
      text: `Wish ${n}: a CRM`,
      platform: { name: 'Reddit', post_url: `https://r.example/${n}` },
    })),
  );
  const told = nudges.map((nudge) => [nudge.commits, nudge.endpointIds.length]);
  expect(told).toEqual([
    [1, 25],
    [2, 25],
    [3, 10],
  ]);
});

test('long posts share a commit with few others', async () => {
  const posts = Array.from({ length: 4 }, (_, n) => ({
    text: `Wish ${n}: a CRM. `.padEnd(14_000, 'and more '),
    platform: { name: 'Reddit', post_url: `https://r.example/${n}` },
  }));
  await observe(...posts);
  expect(commits).toEqual([2, 2]);
});

test('posts to many endpoints share a commit with few others', async () => {
  for (let n = 0; n < 100; n++) await addEndpoint(`whk_${n}`);
  const posts = Array.from({ length: 5 }, (_, n) => ({
    text: `Wish ${n}: a CRM`,
    platform: { name: 'Reddit', post_url: `https://r.example/${n}` },
  }));
  await observe(...posts);
  expect(commits).toEqual([2, 2, 1]);
});

/** A post with a text of that length, and its profiles, which it is cold for. */
async function postForMany(profiles: number, chars: number) {
  for (let n = 0; n < profiles; n++) {
    const profile = {
      ...defaultProfile(`icp_${n}`, 'ten_a', 0),
      name: `P${n}`,
      thresholds: { hot: 99, warm: 1 },
    };
    await store.createProfile(profile, 1_000, 1_000);
  }
  return { text: `${HOT} `.padEnd(chars, 'and more '), external_id: 'x1' };
}

test('a long post for many profiles is stored in several commits, and so is its edit', async () => {
  const post = await postForMany(29, 20_000);
  const [first] = await observe(post);
  expect(first?.status).toBe('created');
  expect(commits).toEqual([5, 5, 5, 5, 5, 4]);
  const edits: number[] = [];
  const { editSignals, leaveSearch } = store;
  const left = new Set<string>();
  store.leaveSearch = async (signal) => {
    const hasMore = await leaveSearch(signal);
    if (!hasMore) left.add(signal.id);
    return hasMore;
  };
  store.editSignals = (some) => {
    edits.push(some.length);
    expect(some.filter(({ signal }) => !left.has(signal.id))).toEqual([]);
    return editSignals(some);
  };
  const [edited] = await observe({ ...post, text: `Edit. ${post.text}`.slice(0, 20_000) });
  expect(edited).toMatchObject({ status: 'duplicate', isUpdated: true, signals: { length: 29 } });
  expect(edits).toEqual(Array(29).fill(1));
});

test('a batch at one moment has at most 256 signals in a millisecond, which has room for 16,384', async () => {
  const post = await postForMany(39, 100);
  await observe(...Array.from({ length: 20 }, (_, i) => ({ ...post, external_id: `x${i}` })));
  const times = new Map<string, number>();
  for (const { wire } of await store.listPosts('ten_a', 1_000)) {
    const { timestamp } = JSON.parse(wire) as Signal;
    times.set(timestamp, (times.get(timestamp) ?? 0) + 1);
  }
  const counts = [...times.values()];
  expect(counts.reduce((sum, count) => sum + count)).toBe(800);
  expect(Math.max(...counts)).toBeLessThanOrEqual(256);
  expect(counts.length).toBeLessThan(10);
});

test('the results of a batch, which a keyed request stores with each commit, do not contain its signals', async () => {
  const kept: number[] = [];
  const { commitSignals } = store;
  store.commitSignals = async (signals) => {
    const stored = await commitSignals(signals);
    kept.push(...stored.map(({ wire }) => wire.length));
    return stored;
  };
  const post = await postForMany(2, 100);
  const [first] = await observe(post, { ...post, external_id: 'x2' });
  expect(first).toMatchObject({
    signals: [],
    signalIds: [expect.any(String), expect.any(String), expect.any(String)],
  });
  expect(kept).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await observe(post)).toMatchObject([{ status: 'duplicate', signals: { length: 3 } }]);
});

/** The number of edits in each commit from now on. */
function sizesOfEdits(): number[] {
  const edits: number[] = [];
  const { editSignals } = store;
  store.editSignals = (some) => {
    edits.push(some.length);
    return editSignals(some);
  };
  return edits;
}

test('an edit that shortens long texts is stored in several commits', async () => {
  const post = await postForMany(29, 2_000);
  await observe(post);
  const edits = sizesOfEdits();
  await observe({ ...post, text: HOT });
  expect(edits).toEqual([...Array(14).fill(2), 1]);
});

test('an edit of a short post with long facts is stored in several commits', async () => {
  const names = { prospect: { name: '\u6f22'.repeat(200), title: '\u5b57'.repeat(200) } };
  const post = { ...(await postForMany(29, 100)), ...names };
  await observe(post);
  const edits = sizesOfEdits();
  await observe({ ...post, text: `Edit. ${post.text}` });
  expect(edits).toEqual(Array(10).fill(3)); // also for the default profile
});

test('an edit of a post with many signals lists them once, not once for each of them', async () => {
  const post = await postForMany(60, 500);
  await observe(post);
  const lists: number[] = [];
  let largest = 0;
  const { commitSignals } = store;
  store.commitSignals = async (signals) => {
    const stored = await commitSignals(signals);
    lists.push(...stored.flatMap(({ outdated }) => outdated?.length ?? []));
    const sizes = stored.flatMap(({ outdated = [] }) => outdated.map((each) => JSON.stringify(each).length));
    largest = Math.max(largest, ...sizes);
    return stored;
  };
  const [edited] = await observe({ ...post, text: `Edit. ${post.text}` });
  expect(edited).toMatchObject({ isUpdated: true, signals: { length: 61 } });
  expect(lists).toEqual([61]);
  expect(largest).toBeLessThan(250); // without the signals themselves, which may have 15 KB each
  expect(await store.findOutdatedSignals({ ...EDITED, text: `Edit. ${post.text}` })).toEqual([]);
});

const EDITED = { tenantId: 'ten_a', platform: 'reddit', shownId: 'x1', externalId: 'x1' };

test('of several texts of a post in one batch, the last one is stored', async () => {
  await observe({ text: HOT, external_id: 'x1' });
  const texts = [`Edit 1. ${HOT}`, HOT, `Edit 2. ${HOT}`];
  const results = await observe(...texts.map((text) => ({ text, external_id: 'x1' })));
  expect(results.map((result) => result.status === 'duplicate' && result.isUpdated)).toEqual([
    false,
    false,
    true,
  ]);
  expect(await store.findOutdatedSignals({ ...EDITED, text: `Edit 2. ${HOT}` })).toEqual([]);
  await observe({ text: `Edit 3. ${HOT}`, external_id: 'x1' }, { text: `Edit 2. ${HOT}`, external_id: 'x1' });
  expect(await store.findOutdatedSignals({ ...EDITED, text: `Edit 2. ${HOT}` })).toEqual([]);
});

test('of two concurrent edits of a post, one determines the texts of all its signals', async () => {
  const post = await postForMany(12, 12_000);
  await observe(post);
  const { editSignals } = store;
  store.editSignals = async (edits) => {
    const edited = await editSignals(edits);
    if (edits[0]?.signal.text.startsWith('Slow')) await setTimeout(10); // while the other one is stored
    return edited;
  };
  const texts = ['Slow', 'Fast'].map((word) => `${word} edit. ${post.text}`);
  await Promise.all(texts.map((text) => observe({ ...post, text })));
  const outdated = texts.map(async (text) => (await store.findOutdatedSignals({ ...EDITED, text })).length);
  expect((await Promise.all(outdated)).sort()).toEqual([0, 12]);
});

test('concurrent edits of a post of an account with thousands of webhooks do not wait for each other forever', async () => {
  const post = await postForMany(3, HOT.length);
  await observe(post);
  const settings = webhookInputSchema.parse({ url: 'https://r.example/', event_types: ['lead.created'] });
  const endpoints = Array.from({ length: 10_000 }, (_, n) => `whk_${n}`);
  store.listReceivers = async () => endpoints.map((id) => ({ id, mode: 'push', settings, shape: null }));
  // Of profiles that the new text does not match, it is scored again, while the others wait for the post.
  const edited = await Promise.all(
    ['one', 'two', 'three', 'four', 'five'].map((text) => observe({ ...post, text: `${COLD} ${text}` })),
  );
  expect(edited.map(([result]) => result?.status)).toEqual(Array(5).fill('duplicate'));
});

test('a batch that takes too long ends between two of its parts, and continues when it is sent again', async () => {
  const posts = Array.from({ length: 60 }, (_, n) => ({ text: `${HOT} ${n}`, external_id: `p${n}` }));
  commitMs = 91_000;
  await expect(observe(...posts)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(commits).toEqual([25]);
  commitMs = 0;
  const statuses = (await observe(...posts)).map(({ status }) => status);
  expect(statuses).toEqual([...Array(25).fill('duplicate'), ...Array(35).fill('created')]);
});

test('posts that match hundreds of profiles are processed a few at once; too many are refused', async () => {
  const post = await postForMany(300, HOT.length);
  const results = await Promise.allSettled(
    Array.from({ length: 80 }, (_, i) => observe({ ...post, external_id: `x${i}` })),
  );
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(refused.length).toBeGreaterThan(10);
  for (const error of refused) expect(error).toMatchObject({ code: 'UNAVAILABLE' });
  const profiles = 301; // with the default profile
  expect(committed).toHaveLength((results.length - refused.length) * profiles);
  const [later] = await observe({ ...post, external_id: 'next' });
  expect(later).toMatchObject({ status: 'created' });
});

test('an edit of a post leaves the signal of a deleted profile as it is', async () => {
  const post = await postForMany(2, 100);
  await observe(post);
  const idOf = (profileId: string) => committed.find((signal) => signal.profileId === profileId)?.id ?? '';
  expect(await store.deleteProfile('ten_a', 'icp_0', 0)).toBe('deleted');
  const text = `Edit. ${post.text}`;
  const [edited] = await observe({ ...post, text });
  expect(edited).toMatchObject({ isUpdated: true });
  expect((await store.getSignal('ten_a', idOf('icp_0')))?.text).toBe(post.text);
  expect((await store.getSignal('ten_a', idOf('icp_1')))?.text).toBe(text);
});
