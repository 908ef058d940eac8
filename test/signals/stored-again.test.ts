import { beforeEach, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { DomainError } from '../../src/model/errors.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import type { ObservedPost } from '../../src/model/signal.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import type { IntakeDeps } from '../../src/signals/plan-posts.ts';
import type { Store } from '../../src/store/store.ts';
import { createFakeEncoder, type FakeEncoder } from '../support/fake-encoder.ts';
import { aTenant, openTestStore } from '../support/store.ts';

const DOUBTFUL =
  'Thoughts on ticketing? Our clinic has eight people on the phones all day, and callers hang up before anybody answers. We have tried a shared mailbox and a sheet, and neither did much for us in the end.';

let store: Store;
let encoder: FakeEncoder;
let deps: IntakeDeps;

beforeEach(async () => {
  const opened = await openTestStore();
  store = opened.store;
  encoder = createFakeEncoder();
  await store.createTenant(aTenant('ten_a'));
  deps = {
    store,
    encoder,
    clock: opened.clock,
    newId: createIds(opened.clock, systemRandom),
    baseUrl: 'https://sp.example',
    matchers: createMatchers(store),
  };
});

const aPost = (i: number, text = `${DOUBTFUL} Number ${i}.`): ObservedPost => ({
  text,
  external_id: `post-${i}`,
  platform: { name: 'reddit' },
});
const observe = (...posts: ObservedPost[]) => observePosts(deps, 'ten_a', posts);

test('posts that are stored already get the same response without being encoded', async () => {
  const posts = [1, 2, 3].map((i) => aPost(i));
  const first = await observe(...posts);
  expect(first.map(({ status }) => status)).toEqual(['created', 'created', 'created']);
  expect(encoder.texts.length).toBeGreaterThanOrEqual(3);
  encoder.texts.length = 0;
  const again = await observe(...posts);
  expect(encoder.texts).toEqual([]);
  expect(again).toEqual(first.map((result) => ({ ...result, status: 'duplicate' })));
});

test('a near-duplicate of a stored post is not encoded either', async () => {
  const [first] = await observe(aPost(1, DOUBTFUL));
  encoder.texts.length = 0;
  const [again] = await observe(aPost(2, DOUBTFUL.replace('answers.', 'answers!!')));
  expect(encoder.texts).toEqual([]);
  expect(again?.status).toBe('duplicate');
  expect(again).toMatchObject({ signalIds: first?.status === 'rejected' ? [] : first?.signalIds });
});

test('a stored post is encoded again for a profile that has no signal of it', async () => {
  await observe(aPost(1));
  const profile = { ...defaultProfile('icp_new', 'ten_a', 1), name: 'New' };
  await store.createProfile(profile, 10);
  encoder.texts.length = 0;
  await observe(aPost(1));
  expect(encoder.texts.length).toBeGreaterThan(0);
});

test('a batch that the encoder cannot accept is rejected as a whole, and nothing is stored', async () => {
  deps.encoder = createFakeEncoder({
    expect: () => {
      throw new DomainError('UNAVAILABLE', 'busy');
    },
  });
  const posts = Array.from({ length: 60 }, (_, i) => aPost(i));
  await expect(observe(...posts)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await store.listPosts('ten_a', 10)).toEqual([]);
});

test('a batch announces the number of its texts, and lower numbers as it progresses', async () => {
  await observe(...Array.from({ length: 75 }, (_, i) => aPost(i)));
  expect(encoder.expected).toEqual([75, 50, 25]);
});
