import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import { MAX_TEXT_CODE_POINTS, type ObservedPost } from '../../src/model/signal.ts';
import { observePosts } from '../../src/signals/intake.ts';
import { planPosts } from '../../src/signals/plan-posts.ts';
import type { Store } from '../../src/store/store.ts';
import { compileTenant } from '../support/compile.ts';
import { cpuOf } from '../support/cpu-time.ts';
import { aTenant, openTestStore } from '../support/store.ts';

const { store, clock } = await openTestStore();

/** As many profiles as most plans allow, with lists of the maximum length and shared phrases. */
const tenant = compileTenant(
  Array.from({ length: 100 }, (_, i) => {
    const list = (kind: string, length: number) =>
      Array.from({ length }, (_, each) => `${kind}${i % 7} ${kind}${each} long word`);
    return {
      ...defaultProfile(`icp_${i}`, 'ten_1', 0),
      phrases: ['crm', 'crm software', ...list('phrase', 198)],
      competitors: ['Acme', 'C', 'C+', 'C++', '.NET', 'Yahoo! Mail', ...list('competitor', 94)],
      excludedPhrases: list('excluded', 200),
      titles: list('Head of', 50),
      industries: list('Industry', 50),
      locations: list('Place', 50),
    };
  }),
);
const deps = {
  store,
  clock,
  newId: createIds(clock, systemRandom),
  baseUrl: 'https://sp.example',
  matchers: { of: async () => tenant },
};

/** A post of the maximum length that repeats one piece. */
function endless(piece: string): string {
  const points = Array.from(piece);
  return Array.from({ length: MAX_TEXT_CODE_POINTS }, (_, i) => points[i % points.length]).join('');
}

async function cpuMsOf(text: string): Promise<number> {
  const post: ObservedPost = {
    text,
    platform: { name: 'reddit' },
    prospect: { name: 'Jo', title: 'Head of long word' },
  };
  const { allMs } = await cpuOf(() => planPosts(deps, 'ten_1', [post]));
  return allMs;
}

const PIECES: Record<string, string> = {
  'one word': 'a',
  'one word of capitals': 'A',
  'exclamation marks': '!',
  'question marks': '? ',
  ellipses: '. . ',
  'ends of sentences in quotes': '."\') ',
  emoji: '😀',
  'families of emoji': '👩‍👩‍👧‍👦 ',
  'zero-width joiners': '\u200d',
  'right-to-left overrides': '\u202e',
  'combining marks': '\u0300\u0334',
  'letters with thirty marks': `a${'\u0300\u0334'.repeat(15)}`,
  'letters that fold into eighteen': '\ufdfa',
  'words that fold into eighteen letters': '\ufdfa ',
  'half-width kana marks': '\uff9e',
  'Chinese characters': '我',
  'Thai characters': 'ก',
  'Greek sigmas': "Σ'",
  'soft hyphens': 'a\u00ad',
  links: 'https://a.example/x ',
  'beginnings of links': 'https://',
  'links in brackets': '(https://a.example)',
  'addresses without a space': 'www.a@a.',
  lines: '\n',
  'lines of a letter': 'a\n',
  'lines with blanks': ' \r\n\t',
  blanks: ' ',
  'words far apart': `looking${' '.repeat(500)}for${' '.repeat(500)}crm${' '.repeat(500)}`,
  'a question far apart': `what${' '.repeat(1_500)}`,
  'a question before mark-up': `what${'*'.repeat(1_500)}`,
  quotes: '"',
  'curly quotes': '“a” ',
  apostrophes: "a'b'",
  possessives: "Acme's ",
  'open brackets': '(',
  'brackets in brackets': '[]()<>{}',
  'mark-up': '<div>**a**</div>`~>#',
  'edits that settle it': 'Edit: went with Acme. ',
  'questions with edits': 'Which CRM? Edit: decided to go with ',
  'a phrase of all profiles': 'crm ',
  'two phrases of all profiles': 'crm software ',
  'a competitor of all profiles': 'Acme ',
  'competitors that differ in signs': 'C++ C+ C ',
  'a competitor with a gap': 'Yahoo! Mail ',
  'a competitor with a sign before it': '.NET ',
  'wishes without an end': 'we are looking for a ',
  'wishes to leave': 'we are thinking of leaving acme and ',
  'requests that are answered': 'Looking for a CRM? We can help. ',
  'a request over and over': 'We are looking for a CRM for our agency. Budget is $500 a month.\n\n',
  denials: 'not without never no longer ',
  rounds: 'Acme raises $1,000,000m ',
  amounts: '$1,000,000k ',
  digits: '1,',
  migrations: 'migrating from acme, hiring ',
  joiners: 'a-b/c.d&e+f@',
};

test.each(Object.entries(PIECES))(
  'a post of %s is scored with a hundred profiles in milliseconds',
  async (_what, piece) => {
    const text = endless(piece);
    await cpuMsOf('warm up');
    // Quadratic work would take seconds.
    expect(await cpuMsOf(text)).toBeLessThan(300);
  },
);

test('scoring a post that a hundred profiles match yields to other work', async () => {
  let now = 0;
  // Each reading of the clock shows that the turn is over.
  const slow = { ...clock, monotonic: () => (now += 10) };
  let isDone = false;
  let others = 0;
  const serve = () => {
    if (isDone) return;
    others++;
    setImmediate(serve);
  };
  setImmediate(serve);
  const text =
    'We are looking for a CRM for our agency. Which CRM software do you recommend? Budget is $500.';
  const [planned] = await planPosts({ ...deps, clock: slow }, 'ten_1', [
    { text, platform: { name: 'reddit' } },
  ]);
  isDone = true;
  expect(planned?.signals).toHaveLength(100);
  expect(others).toBeGreaterThan(1);
});

test('of the posts that waited for the same compilation, few are read in the same turn', async () => {
  const compiled = Promise.withResolvers<typeof tenant>();
  const turns: number[] = [];
  const matcher: typeof tenant = {
    ...tenant,
    match(...given) {
      const until = performance.now() + 6; // longer than a turn
      while (performance.now() < until);
      turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
      return tenant.match(...given);
    },
  };
  const waiting = { ...deps, clock: systemClock, matchers: { of: () => compiled.promise } };
  const planned = Array.from({ length: 8 }, (_, i) =>
    planPosts(waiting, 'ten_1', [{ text: `Post ${i}`, platform: { name: 'reddit' } }]),
  );
  await setTimeout(20);
  compiled.resolve(matcher);
  await Promise.all(planned);
  expect(turns).toHaveLength(8);
  expect(new Set(turns).size).toBe(8);
});

test('posts that many profiles match are stored in several commits', async () => {
  const opened = await openTestStore();
  await opened.store.createTenant(aTenant('ten_1'));
  const commits: string[][] = [];
  const store: Store = {
    ...opened.store,
    async commitSignals(signals) {
      commits.push(signals.map(({ externalId }) => externalId ?? ''));
      return signals.map(({ id, wire }) => ({ status: 'created', id, wire }));
    },
  };
  const text =
    'We are looking for a CRM for our agency. Which CRM software do you recommend? Budget is $500.';
  const posts = Array.from({ length: 6 }, (_, i) => ({
    text: `${text} Number ${i}.`,
    external_id: String(i),
    platform: { name: 'reddit' },
  }));
  const results = await observePosts({ ...deps, store }, 'ten_1', posts);
  expect(results.map((result) => result.status !== 'rejected' && result.signalIds.length)).toEqual(
    posts.map(() => 100),
  );
  // In order; a post's signals for several profiles need no commit of their own.
  expect(commits.map((ids) => ids.length)).toEqual(Array(24).fill(25));
  expect(commits.flat()).toEqual(posts.flatMap((post) => Array(100).fill(post.external_id)));
});
