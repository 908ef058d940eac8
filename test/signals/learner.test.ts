import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { defaultProfile, patchProfile } from '../../src/model/icp.ts';
import { createLearner } from '../../src/signals/learner.ts';
import { type Judged, learn, lessonOdds } from '../../src/signals/lesson.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { MODEL_VERSION, readPost, scorePost } from '../../src/signals/score.ts';
import { createSuggester, decideSuggestion, listSuggestions } from '../../src/signals/suggestions.ts';
import { aSignal, aTenant, openTestStore } from '../support/store.ts';
import { createTopicEncoder } from '../support/topic-encoder.ts';

const WISHES: readonly ((who: string) => string)[] = [
  (who) =>
    `We are 12 people. Which help desk would you recommend for a ${who}? We want to decide this month.`,
  (who) => `Can anybody recommend a help desk for a ${who} with a team of 8? Budget is approved.`,
  (who) => `Looking for a help desk for our ${who}, what do you use? We need to buy one this quarter.`,
];
const wishOf = (who: string, i = 0) => WISHES[i % WISHES.length]?.(who) ?? '';

/**
 * A tenant with a profile that sells help desks, and an encoder that distinguishes help desks, shops and
 * clinics.
 */
async function openSeller() {
  const { store, clock } = await openTestStore();
  const account = aTenant('ten_a');
  await store.createTenant(account);
  const offer = { name: 'Desk', offer: 'A help desk for customer support' };
  await store.createProfile(patchProfile(defaultProfile('icp_desk', 'ten_a', 0), offer), 10, 1_000);
  const encoder = createTopicEncoder(['help desk', 'florist', 'clinic']);
  const matchers = createMatchers(store);
  const learner = createLearner({ store, clock, encoder });
  const suggester = createSuggester(store, clock);
  let posts = 0;
  /** The current explanation of a post. */
  async function explain(text: string) {
    const matcher = await matchers.of('ten_a');
    const words = readPost({ ...UNKNOWN, text }, true);
    const hits = matcher.match(words.tokens);
    const candidates = matcher.profiles.flatMap((compiled, place) =>
      compiled.profile.id === 'icp_desk' ? [{ compiled, hits: hits.get(place) ?? [] }] : [],
    );
    const reading = await addMeaning(words, candidates, { encoder });
    const [explanation] = candidates.map((one) => scorePost(reading, one.compiled, one.hits));
    if (explanation === undefined) throw new Error('no profile');
    return explanation;
  }
  async function judge(text: string, relevant: boolean) {
    const signalId = `sig_${++posts}`;
    const wire = JSON.stringify({ ...WIRE, signal_id: signalId });
    const stored = { id: signalId, profileId: 'icp_desk', text, wire, timestamp: clock.now() };
    await store.commitSignals([aSignal('ten_a', stored)]);
    clock.advance(1);
    const said = { tenantId: 'ten_a', signalId, reason: '', actorId: 'key_1', relevant };
    await store.saveFeedback({ ...said, createdAt: clock.now() });
  }
  const deps = { store, clock, suggester };
  const tenant = account.tenant;
  return { store, clock, encoder, learner, explain, judge, deps, tenant };
}

/** Florists are relevant, clinics are not. */
async function judgeTen(judge: (text: string, relevant: boolean) => Promise<void>, count = 10) {
  for (let i = 0; i < count; i++) await judge(wishOf(i % 2 === 0 ? 'florist' : 'clinic', i), i % 2 === 0);
}

const WIRE = {
  signal_type: 'intent_post',
  timestamp: '2026-11-22T00:00:00.000Z',
  prospect: { name: 'Jo', title: '', email: '', linkedin_url: '' },
  company: { name: '', domain: '', industry: '', headcount: '', location: '' },
  platform: { name: 'forum', post_url: '', posted_at: '' },
};
const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const FLORIST = wishOf('florist');
const CLINIC = wishOf('clinic');

test('after ten judgements, posts like the irrelevant ones score lower, and the explanation says so', async () => {
  const { learner, explain, judge } = await openSeller();
  const before = await explain(CLINIC);
  await judgeTen(judge, 9);
  await learner.run();
  expect(await explain(CLINIC)).toEqual(before);
  await judge(wishOf('clinic', 9), false);
  await learner.run();

  const clinic = await explain(CLINIC);
  expect(clinic.score).toBeLessThan(before.score - 10);
  expect((await explain(FLORIST)).score).toBeGreaterThan(clinic.score + 10);
  expect(clinic.negatives.map(({ label }) => label)).toContain('Like signals you marked not relevant');
  const points = [...clinic.factors, ...clinic.negatives].map((factor) => factor.points);
  expect(points.reduce((sum, each) => sum + each, 0)).toBe(clinic.score);
});

test('posts like relevant ones score higher even if no offer names them, and the explanation says so', async () => {
  const { learner, explain, judge } = await openSeller();
  const tills = (who: string, i = 0) => wishOf(who, i).replace('help desk', 'till');
  const before = await explain(tills('florist'));
  for (let i = 0; i < 10; i++) await judge(tills(i % 2 === 0 ? 'florist' : 'clinic', i), i % 2 === 0);
  await learner.run();
  const florist = await explain(tills('florist'));
  expect(florist.score).toBeGreaterThan(before.score);
  expect(florist.factors.map(({ label }) => label)).toContain('Like signals you marked relevant');
  expect((await explain(tills('clinic'))).score).toBeLessThan(florist.score);
});

test('a lesson is listed with its effect; it can be undone, and the undo can be undone', async () => {
  const { learner, explain, judge, deps, tenant } = await openSeller();
  const plain = await explain(CLINIC);
  await judgeTen(judge, 12);
  await learner.run();
  const learned = async () =>
    (await listSuggestions(deps, 'ten_a', 'icp_desk')).find(({ kind }) => kind === 'learned_topic');
  expect(await learned()).toMatchObject({
    id: 'learned_topic',
    status: 'accepted',
    member: 'offer',
    value: 12,
  });
  const { effect } = (await learned()) ?? {};
  expect(effect?.shown_after.not_relevant).toBeLessThanOrEqual(effect?.shown_before.not_relevant ?? 0);
  expect(effect?.shown_before.relevant).toBe(6);

  const target = { profileId: 'icp_desk', id: 'learned_topic', action: 'undo' } as const;
  expect(await decideSuggestion(deps, tenant, target)).toMatchObject({ status: 'dismissed' });
  expect((await explain(CLINIC)).score).toBe(plain.score);
  expect(await learned()).toMatchObject({ status: 'dismissed' });
  await expect(decideSuggestion(deps, tenant, { ...target, action: 'dismiss' })).rejects.toThrow(
    'already dismissed',
  );

  // Further judgements do not turn it on again.
  await judge(wishOf('florist', 12), true);
  await learner.run();
  expect(await learned()).toMatchObject({ status: 'dismissed', value: 13 });
  expect(await decideSuggestion(deps, tenant, target)).toMatchObject({ status: 'accepted' });
  expect((await explain(CLINIC)).score).toBeLessThan(plain.score);
});

test('a profile learns again when its offer changes, from posts encoded for the new one', async () => {
  const { store, encoder, learner, judge } = await openSeller();
  await judgeTen(judge);
  await learner.run();
  expect(await store.listDueLessons(10)).toEqual([]);
  const profile = await store.getProfile('ten_a', 'icp_desk');
  if (profile === null) throw new Error('no profile');
  await store.changeProfile({
    ...patchProfile(profile, { offer: 'A help desk for florists' }),
    version: profile.version + 1,
  });
  expect(await store.listDueLessons(10)).toMatchObject([{ tenantId: 'ten_a', profileId: 'icp_desk' }]);
  encoder.asked.length = 0;
  await learner.run();
  expect(encoder.asked.map(({ parts }) => parts[0])).toContain('A help desk for florists');
  expect(await store.listDueLessons(10)).toEqual([]);
});

test('a lesson of another model is not used, and is learned again after the next start', async () => {
  const { store, clock, encoder, learner, explain, judge } = await openSeller();
  const plain = await explain(CLINIC);
  await judgeTen(judge);
  await learner.run();
  const [stored] = await store.listLessons('ten_a');
  const lesson = stored?.lesson?.replace(MODEL_VERSION, '2020-01-01') ?? null;
  await store.saveLesson({ tenantId: 'ten_a', profileId: 'icp_desk', asked: 10, lesson });
  expect(await explain(CLINIC)).toEqual(plain);
  await learner.run();
  expect(await explain(CLINIC)).toEqual(plain);
  await createLearner({ store, clock, encoder }).run();
  expect((await explain(CLINIC)).score).toBeLessThan(plain.score);
});

test('feedback given while a lesson is computed makes the profile due again', async () => {
  const { store, judge } = await openSeller();
  await judge(FLORIST, true);
  const [due] = await store.listDueLessons(10);
  if (due === undefined) throw new Error('nothing is due');
  await judge(CLINIC, false);
  await store.saveLesson({ ...due, lesson: null });
  expect(await store.listDueLessons(10)).toHaveLength(1);
});

test('a failed lesson is retried after a minute, while other profiles learn', async () => {
  const { store, learner, encoder, judge } = await openSeller();
  await judgeTen(judge);
  const { begin } = encoder;
  encoder.begin = () => {
    throw new Error('broke');
  };
  await expect(learner.run()).rejects.toThrow('broke');
  encoder.begin = begin;
  await learner.run();
  expect(await store.listDueLessons(10)).toHaveLength(1);
});

test('a lesson that takes long does not delay those of other tenants', async () => {
  const { store, clock, learner, encoder, judge } = await openSeller();
  await judgeTen(judge);
  await store.createTenant(aTenant('ten_b'));
  const [other] = await store.listProfiles('ten_b');
  const signal = { id: 'sig_b', profileId: other?.id ?? '', timestamp: clock.now() };
  await store.commitSignals([aSignal('ten_b', signal)]);
  const said = { tenantId: 'ten_b', signalId: 'sig_b', reason: '', actorId: 'key_1', relevant: true };
  await store.saveFeedback({ ...said, createdAt: clock.now() });
  const due = async () => (await store.listDueLessons(10)).map(({ tenantId }) => tenantId);
  expect(await due()).toEqual(['ten_a', 'ten_b']);

  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  const { begin } = encoder;
  encoder.begin = (work) => ({
    ...begin(work),
    encode: (parts, model) => isReleased.then(() => encoder.encode(parts, model)),
  });
  const running = learner.run();
  await vi.waitFor(async () => expect(await due()).toEqual(['ten_a']));
  release();
  await running;
  expect(await due()).toEqual([]);
});

test('lessons of several tenants begin in turns of the event loop', async () => {
  const { store, clock, encoder } = await openSeller();
  const tenants = ['ten_b', 'ten_c', 'ten_d'];
  for (const id of tenants) {
    await store.createTenant(aTenant(id));
    const [profile] = await store.listProfiles(id);
    const signalId = `sig_${id}`;
    await store.commitSignals([
      aSignal(id, { id: signalId, profileId: profile?.id ?? '', timestamp: clock.now() }),
    ]);
    const said = { tenantId: id, signalId, reason: '', actorId: 'key_1', relevant: true };
    await store.saveFeedback({ ...said, createdAt: clock.now() });
  }
  const turns: number[] = [];
  const getProfile: typeof store.getProfile = (tenantId, id) => {
    turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
    // As long as one turn may take.
    for (const began = performance.now(); performance.now() - began < 6; );
    return store.getProfile(tenantId, id);
  };
  await createLearner({ store: { ...store, getProfile }, clock, encoder }).run();
  expect(turns).toHaveLength(tenants.length);
  expect(new Set(turns).size).toBe(tenants.length);
});

test('a lesson offers a turn after each judged post and each step', async () => {
  const all = Array.from({ length: 100 }, (_, i) => ({
    numbers: unit([Math.sin(i), Math.cos(i), i / 100, 1]),
    odds: i % 3,
    relevant: i % 2 === 0,
  }));
  let offered = 0;
  await learn(all, async () => {
    offered++;
  });
  expect(offered).toBeGreaterThan(100);
});

const judged = fc.record({
  numbers: fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 }).map(unit),
  odds: fc.double({ min: -6, max: 6, noNaN: true }),
  relevant: fc.boolean(),
});

function unit(numbers: number[]): Float32Array {
  const length = Math.hypot(...numbers) || 1;
  return Float32Array.from(numbers, (number) => number / length);
}

const atOnce = async () => undefined;

test('a lesson is finite and bounded, for any judgements in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(judged, { minLength: 1, maxLength: 100 }), judged, async (all, other) => {
      const odds = lessonOdds(await learn(all, atOnce), other.numbers);
      expect(Number.isFinite(odds)).toBe(true);
      expect(Math.abs(odds)).toBeLessThanOrEqual(3);
      expect(lessonOdds(await learn(all.toReversed(), atOnce), other.numbers)).toBeCloseTo(odds, 3);
    }),
    { numRuns: 60 },
  );
});

test('judgements that agree with the previous odds teach almost nothing', async () => {
  const sure = (odds: number): Judged => ({
    numbers: unit([1, 2, 3, 4, 5, 6, 7, 8]),
    odds,
    relevant: odds > 0,
  });
  const lesson = await learn([sure(8), sure(9), sure(8.5)], atOnce);
  expect(Math.abs(lessonOdds(lesson, unit([1, 2, 3, 4, 5, 6, 7, 8])))).toBeLessThan(0.1);
});
