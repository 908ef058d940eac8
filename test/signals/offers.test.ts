import { expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { defaultProfile, type IcpPatch, type IcpProfile, patchProfile } from '../../src/model/icp.ts';
import type { Explanation } from '../../src/model/signal.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { addMeaning, readMeaning } from '../../src/signals/meaning.ts';
import { createNearest, createOffer, numbersOf, rivalry } from '../../src/signals/offer.ts';
import type { IntakeDeps } from '../../src/signals/plan-posts.ts';
import { readPost, scorePost } from '../../src/signals/score.ts';
import { compileTenant } from '../support/compile.ts';
import { aTenant, openTestStore } from '../support/store.ts';
import { createTopicEncoder } from '../support/topic-encoder.ts';

const ASKS =
  'Too much mail\n\nWe are a shop of 12 people. Which help desk would you recommend? We want to decide this month.';
const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };

const topicEncoder = () => createTopicEncoder(['help desk', 'payroll', 'pallet']);

function profileOf(id: string, patch: IcpPatch): IcpProfile {
  return patchProfile(defaultProfile(id, 'ten_a', 0), patch);
}

async function explain(
  text: string,
  profiles: readonly IcpProfile[],
  encoder: Pick<Encoder, 'encode'> | null,
): Promise<Explanation[]> {
  const { profiles: compiled, match } = compileTenant(profiles);
  const words = readPost({ ...UNKNOWN, text }, encoder !== null);
  const hits = match(words.tokens);
  const candidates = compiled.map((one, place) => ({ compiled: one, hits: hits.get(place) ?? [] }));
  const reading = await addMeaning(words, candidates, { encoder });
  return candidates.map((one) => scorePost(reading, one.compiled, one.hits));
}

const HELP_DESK = profileOf('icp_desk', { name: 'Desk', offer: 'A help desk for online shops' });
const PAYROLL = profileOf('icp_pay', { name: 'Pay', offer: 'Payroll for small firms' });

test('a post that wants the offer of a profile scores higher than one that wants something else, and the sentence says why', async () => {
  const [desk, pay] = await explain(ASKS, [HELP_DESK, PAYROLL], topicEncoder());
  expect(desk?.score).toBeGreaterThan((pay?.score ?? 100) + 30);
  const match = desk?.factors.find(({ key }) => key === 'offer');
  expect(match?.label).toBe('Wants what you offer');
  expect(match?.evidence.map(({ text }) => text)).toEqual(['Which help desk would you recommend?']);
  expect(pay?.negatives.find(({ key }) => key === 'offer')?.label).toBe('Wants something else');
  expect(pay?.score).toBeLessThan(40);
});

test('the points add up to the score, with an offer, too', async () => {
  for (const { score, factors, negatives } of await explain(ASKS, [HELP_DESK, PAYROLL], topicEncoder())) {
    const points = [...factors, ...negatives].reduce((sum, { points: each }) => sum + each, 0);
    expect(points).toBe(score);
  }
});

test('adding a profile does not change the explanations of other profiles', async () => {
  const alone = await explain(ASKS, [HELP_DESK], topicEncoder());
  const others = Array.from({ length: 20 }, (_, i) =>
    profileOf(`icp_${i}`, { name: `P ${i}`, offer: `Pallets of kind ${i}` }),
  );
  const beside = await explain(ASKS, [...others, HELP_DESK, PAYROLL], topicEncoder());
  expect(beside[others.length]).toEqual(alone[0]);
});

test('a post is encoded once for all offers', async () => {
  const encoder = topicEncoder();
  await explain(ASKS, [HELP_DESK, PAYROLL], encoder);
  const posts = encoder.asked.filter(({ parts }) => parts.join(' ').includes('recommend'));
  expect(posts.map(({ model }) => model)).toEqual(['intent', 'offers']);
});

test('an offer is encoded once per version of its profile', async () => {
  const encoder = topicEncoder();
  const { profiles: compiled } = compileTenant([HELP_DESK]);
  for (const text of [ASKS, `${ASKS} Thank you!`]) {
    const candidates = compiled.map((one) => ({ compiled: one, hits: [] }));
    await addMeaning(readPost({ ...UNKNOWN, text }, true), candidates, { encoder });
  }
  expect(encoder.asked.filter(({ parts }) => parts[0] === HELP_DESK.offer)).toHaveLength(1);
});

test('hundreds of profiles with the same offer, encoded once, leave turns to others', async () => {
  const encoder = topicEncoder();
  await createOffer({ offer: 'A help desk', phrases: [] })?.numbers(encoder); // reads the known offers
  let turns = 0;
  let isDone = false;
  const beat = () => {
    turns++;
    if (!isDone) setImmediate(beat);
  };
  setImmediate(beat);
  const offers = Array.from({ length: 200 }, () => createOffer({ offer: 'A help desk', phrases: [] }));
  await Promise.all(offers.map((offer) => offer?.numbers(encoder)));
  isDone = true;
  expect(turns).toBeGreaterThan(5); // none if all are compared with the known needs in one piece
});

test('an offer that the encoder failed on is encoded again', async () => {
  const encoder = topicEncoder();
  let fails = true;
  const flaky: Pick<Encoder, 'encode'> = {
    encode: (parts, model) =>
      fails && parts[0] === HELP_DESK.offer
        ? Promise.reject(new Error('broke'))
        : encoder.encode(parts, model),
  };
  const { profiles: compiled } = compileTenant([HELP_DESK]);
  const candidates = compiled.map((one) => ({ compiled: one, hits: [] }));
  const read = () => addMeaning(readPost({ ...UNKNOWN, text: ASKS }, true), candidates, { encoder: flaky });
  await expect(read()).rejects.toThrow('broke');
  fails = false;
  expect((await read()).matches.size).toBe(1);
});

test('an answer of the encoder is read on in a turn of its own, as one message may answer many posts', async () => {
  const order: string[] = [];
  const encoder = topicEncoder();
  const traced: Pick<Encoder, 'encode'> = {
    async encode(parts, model) {
      const found = await encoder.encode(parts, model);
      order.push('encoded');
      return new Proxy(found, {
        get(target, name) {
          if (name === 'numbers' && order.at(-1) !== 'read') order.push('read');
          return Reflect.get(target, name);
        },
      });
    },
  };
  const [compiled] = compileTenant([HELP_DESK]).profiles;
  const offers = compiled?.offer ? [compiled.offer] : [];
  const read = () =>
    readMeaning(readPost({ ...UNKNOWN, text: ASKS }, true), offers, {
      encoder: traced,
      nextTurn: async () => void order.push('turn'),
    });
  await read(); // from now on, the offer is known
  order.length = 0;
  expect((await read()).matches.size).toBe(1);
  expect(order.slice(0, 6)).toEqual(['encoded', 'turn', 'read', 'encoded', 'turn', 'read']);
});

test('without the encoder, the words of a profile decide, and an offer alone is not a topic', async () => {
  const [plain, worded] = await explain(
    ASKS,
    [HELP_DESK, profileOf('icp_words', { name: 'Words', offer: HELP_DESK.offer, phrases: ['help desk'] })],
    null,
  );
  expect(plain?.negatives.map(({ key }) => key)).toContain('off_topic');
  expect(worded?.score).toBeGreaterThanOrEqual(40);
});

test('a weight of 0 for the topic disables the offer', async () => {
  const weights = { ...PAYROLL.weights, topic: 0 };
  const [pay] = await explain(ASKS, [{ ...PAYROLL, weights }], topicEncoder());
  expect([...(pay?.factors ?? []), ...(pay?.negatives ?? [])].map(({ key }) => key)).not.toContain('offer');
});

test('a post becomes a signal of the profile whose offer it wants, without containing its phrases', async () => {
  const { store, clock } = await openTestStore();
  await store.createTenant(aTenant('ten_a'));
  for (const profile of [PAYROLL, HELP_DESK]) await store.createProfile(profile, 10, 1_000);
  const parts: IntakeDeps = {
    store,
    clock,
    newId: createIds(clock, systemRandom),
    baseUrl: 'http://localhost',
    matchers: createMatchers(store),
    encoder: topicEncoder(),
  };
  const platform = { name: 'forum', post_url: 'https://forum.example/1' };
  await observePosts(parts, 'ten_a', [{ platform, text: ASKS }]);
  const profiles = (await store.listPosts('ten_a', 10)).map(({ profileId }) => profileId);
  expect(profiles).toContain('icp_desk');
  expect(profiles).not.toContain('icp_pay');
});

test('a post is compared with the phrases of a profile by meaning, too, in a single text', async () => {
  const encoder = topicEncoder();
  const offer = 'Software for support teams';
  const bare = profileOf('icp_bare', { name: 'Bare', offer });
  const described = profileOf('icp_told', {
    name: 'Told',
    offer,
    phrases: ['shared help desk', 'zendesk pricing'],
  });
  // A request for three things at once: the similarity to one of them is limited.
  const asks = ASKS.replace('help desk', 'help desk, payroll and pallet supplier');
  const [without, withPhrases] = await explain(asks, [bare, described], encoder);
  expect(withPhrases?.score).toBeGreaterThan(without?.score ?? 100);
  const asked = encoder.asked.filter(({ parts }) => parts.join('').startsWith(offer));
  expect(asked.map(({ parts }) => parts)).toEqual([
    [offer],
    [offer],
    [`${offer}. shared help desk, zendesk pricing`],
  ]);
});

test('a post that is similar to other offers matches less, unless they are of the same kind', () => {
  const at = (...numbers: number[]) => Float32Array.from(numbers);
  const known = [at(1, 0), at(0, 1)];
  const post = at(0.6, 0.8);
  const rivals = rivalry(post, known);
  expect(rivals([])).toBeGreaterThan(rivals([1]));
  expect(rivals([1])).toBeCloseTo(0.6);
  expect(rivals([0])).toBeCloseTo(0.8);
  expect(rivals([0, 1])).toBe(0);
});

test('a profile without a description of what is sold has no offer', () => {
  expect(createOffer({ offer: '', phrases: ['help desk'] })).toBeNull();
});

test('texts that are kept are encoded in the first turn of all works that need them', async () => {
  const asked: string[] = [];
  const { promise: encoded, resolve } = Promise.withResolvers<void>();
  const workOf = (name: string) => ({
    async encode([text]: readonly string[]) {
      asked.push(`${name}: ${text}`);
      await encoded;
      return { numbers: new Float32Array([1]), shares: new Float32Array([1]) };
    },
  });
  const nearest = createNearest(
    () => ['pallets'],
    (items, encoder) => Promise.all(items.map(async (item) => [await numbersOf(item, encoder)])),
  );
  const [batch, single] = [workOf('batch'), workOf('single')];
  const found = [nearest('a', batch), nearest('b', batch), nearest('c', single)];
  resolve();
  await Promise.all(found);
  await nearest('d', workOf('later'));
  expect(asked.filter((line) => line.endsWith('pallets'))).toEqual(['batch: pallets', 'single: pallets']);
});
