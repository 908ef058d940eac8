import { candidatesOf, type TenantMatcher } from '../../src/signals/matchers.ts';
import { readPost, type ScoredPost, scorePost } from '../../src/signals/score.ts';
import { compileTenant } from '../../test/support/compile.ts';
import { type Figure, median } from '../report.ts';
import { fullProfiles, makePosts, makeProfiles, worstTexts } from './setting.ts';

const POSTS = 5_000;
const ROUNDS = 5;
/** Some kernels measure a thread's time in steps of 4 ms. */
const REPEATS = 20;
const SIZES = [10, 100, 1_000, 10_000];
const ANY = { profileIds: [], wanted: undefined };

/**
 * Posts scored with many profiles on one thread: 5,000 posts with 1,000 profiles of 20 phrases each; the growth with
 * the number of profiles; and the slowest text of the maximum length, at the limits of the largest plan.
 */
export async function benchMatch(): Promise<Figure[]> {
  const all = makeProfiles(Math.max(...SIZES));
  const seconds = new Map<number, number>();
  for (const size of SIZES) seconds.set(size, await measure(all.slice(0, size)));
  const few = seconds.get(10) ?? Number.NaN;
  const thousand = seconds.get(1_000) ?? Number.NaN;
  return [
    {
      bench: 'match',
      variant: '5,000 posts, 1,000 profiles of 20 phrases, compared with 10 profiles',
      ours: POSTS / thousand,
      floor: POSTS / few,
      ratio: few / thousand,
      unit: 'posts/s',
      target: 'at most 1.5 s of CPU time',
      seconds: rounded(thousand),
      ...Object.fromEntries(
        SIZES.map((size) => [`seconds_at_${size}_profiles`, rounded(seconds.get(size) ?? 0)]),
      ),
      compile_ms_at_1000_profiles: Math.round(await cpuMs(() => void compileTenant(all.slice(0, 1_000)))),
    },
    await worst(),
  ];
}

async function measure(profiles: ReturnType<typeof makeProfiles>): Promise<number> {
  const matcher = compileTenant(profiles);
  const posts = makePosts(POSTS, profiles);
  const round = async () => {
    for (const post of posts) await score(matcher, post);
  };
  await round();
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push((await cpuMs(round)) / 1_000);
  return median(times);
}

async function worst(): Promise<Figure> {
  const matcher = compileTenant(fullProfiles());
  const plain = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const times: [string, number][] = [];
  for (const [name, text] of Object.entries(worstTexts())) {
    const runs = async () => {
      for (let i = 0; i < REPEATS; i++) await score(matcher, { ...plain, text });
    };
    await runs();
    times.push([name, (await cpuMs(runs)) / REPEATS]);
  }
  const slowest = Math.max(...times.map(([, ms]) => ms));
  return {
    bench: 'match',
    variant: 'slowest text of 20,000 characters, 1,000 profiles of 50 phrases',
    ours: 1_000 / slowest,
    floor: 1_000 / 50,
    ratio: 50 / slowest,
    unit: 'posts/s',
    target: 'at most 50 ms',
    slowest_ms: rounded(slowest),
    ...Object.fromEntries(times.map(([name, ms]) => [`ms of ${name}`, rounded(ms)])),
  };
}

async function score(matcher: TenantMatcher, post: ScoredPost): Promise<number> {
  const reading = readPost(post);
  const hits = matcher.match(reading.tokens);
  const candidates = await candidatesOf(matcher, reading, hits, ANY, async () => {});
  return candidates.reduce(
    (best, { compiled, hits }) => Math.max(best, scorePost(reading, compiled, hits).score),
    0,
  );
}

/** CPU time of this thread: wall-clock time would include other work of the machine. */
async function cpuMs(work: () => Promise<void> | void): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
