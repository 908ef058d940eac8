import { defaultProfile, type IcpProfile, icpInputSchema, patchProfile } from '../../src/model/icp.ts';
import { draftFromOffer, kindsOf } from '../../src/signals/draft.ts';
import { createEncoder } from '../../src/signals/encoder/encoder.ts';
import { type Judged, learn, lessonOdds } from '../../src/signals/lesson.ts';
import { readMeaning } from '../../src/signals/meaning.ts';
import { mayBeWish, oddsFor, readPost } from '../../src/signals/score.ts';
import { compileTenant } from '../../test/support/compile.ts';
import catalogue from '../train/offers/catalogue.json' with { type: 'json' };
import { offerFold, offerPosts } from '../train/offers/posts.ts';

/**
 * How a profile's precision grows with its tenant's feedback: sellers whose offers are not in the training data rate some of
 * the posts that they would see, according to the labels, and precision is measured on the others.
 */
const [folder, fold = '0'] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Usage: node scripts/quality/lessons.ts FOLDER [FOLD]   (see scripts/train/README.md)');
  process.exit(64);
}

/** The posts with the highest scores for each seller: half of them may be rated, the others are measured. */
const POSTS = 200;
const LEAST_WANTED = 20;
const LEAST_SHOWN = 15;
const ROUNDS = 4;
const COUNTS = [0, 10, 30, 100];

const offers: Readonly<Record<string, string>> = catalogue;
const sellers = Object.keys(offers).filter((key) => offerFold(key) === Number(fold));
const encoder = createEncoder();
const profiles: IcpProfile[] = [];
for (const [i, key] of sellers.entries()) {
  const offer = offers[key] ?? '';
  const draft = { ...draftFromOffer(offer, null, await kindsOf(offer, encoder)), name: key };
  profiles.push(patchProfile(defaultProfile(`icp_${i}`, 'ten_lessons', i), icpInputSchema.parse(draft)));
}
const tenant = compileTenant(profiles);
const sold = tenant.profiles.flatMap(({ offer }) => offer ?? []);
const posts = sellers.map((): Judged[] => []);
for (const { text, labels } of offerPosts(folder)) {
  const words = readPost(
    { title: '', companyName: '', industry: '', headcount: '', location: '', text },
    true,
  );
  if (!mayBeWish(words)) continue;
  const hits = tenant.match(words.tokens);
  const reading = await readMeaning(words, sold, { encoder, nextTurn: async () => {} });
  for (const [place, compiled] of tenant.profiles.entries()) {
    const numbers = compiled.offer === null ? undefined : reading.matches.get(compiled.offer)?.post;
    if (numbers === undefined) continue;
    const odds = oddsFor(reading, compiled, hits.get(place) ?? []).warm;
    posts[place]?.push({
      numbers,
      odds,
      relevant: sellers[place] !== undefined && labels[sellers[place]] !== undefined,
    });
  }
}
await encoder.close();

/** The same order in every run. */
function shuffled<T>(list: readonly T[], seed: number): T[] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return list
    .map((item) => ({ item, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const tops = posts
  .map((all) => [...all].sort((a, b) => b.odds - a.odds).slice(0, POSTS))
  .filter(
    (top) => count(top, ({ relevant }) => relevant) >= LEAST_WANTED && count(top, isShown) >= LEAST_SHOWN,
  );

function isShown({ odds }: { odds: number }): boolean {
  return odds >= 0;
}

function count<T>(list: readonly T[], test: (item: T) => boolean): number {
  return list.filter(test).length;
}

console.log(
  `${tops.length} sellers, ${ROUNDS} rounds each\njudgements  precision  recall  average precision`,
);
for (const judgements of COUNTS) {
  let [shown, right, wanted] = [0, 0, 0];
  const averages: number[] = [];
  for (const [seller, top] of tops.entries()) {
    for (let round = 0; round < ROUNDS; round++) {
      const mixed = shuffled(top, seller * ROUNDS + round + 1);
      const [own, others] = [mixed.slice(0, POSTS / 2), mixed.slice(POSTS / 2)];
      // Shown posts are rated first, then those that come closest to being shown.
      const missed = own.filter((post) => !isShown(post)).sort((a, b) => b.odds - a.odds);
      const judged = [...own.filter(isShown), ...missed].slice(0, judgements);
      const lesson = judged.length === 0 ? null : await learn(judged, async () => undefined);
      const after = others.map((post) => ({
        ...post,
        odds: post.odds + (lesson === null ? 0 : lessonOdds(lesson, post.numbers)),
      }));
      shown += count(after, isShown);
      right += count(after, (post) => isShown(post) && post.relevant);
      wanted += count(after, ({ relevant }) => relevant);
      averages.push(averagePrecision(after));
    }
  }
  const mean = averages.reduce((sum, each) => sum + each, 0) / averages.length;
  const figures = [right / shown, right / wanted, mean].map((value) => value.toFixed(2));
  console.log([String(judgements).padEnd(10), ...figures].join('  '));
}

function averagePrecision(posts: readonly Judged[]): number {
  let [found, sum] = [0, 0];
  for (const [i, { relevant }] of [...posts].sort((a, b) => b.odds - a.odds).entries()) {
    if (!relevant) continue;
    found++;
    sum += found / (i + 1);
  }
  return found === 0 ? 0 : sum / found;
}
