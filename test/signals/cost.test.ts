import { expect, test } from 'vitest';
import { defaultProfile } from '../../src/model/icp.ts';
import { readPost, scorePost } from '../../src/signals/score.ts';
import { compileLists, compileOne } from '../support/compile.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };

/** As many profiles, phrases and characters as the API accepts. */
function fullProfiles(count: number) {
  const list = (kind: string, profile: number, length: number) =>
    Array.from({ length }, (_, i) => `${kind}${profile} ${kind}${i} ${'long word '.repeat(8)}`.slice(0, 100));
  return Array.from({ length: count }, (_, i) =>
    compileOne({
      ...defaultProfile(`icp_${i}`, 'ten_1', 0),
      phrases: list('phrase', i, 200),
      excludedPhrases: list('excluded', i, 200),
      competitors: list('competitor', i, 100),
    }),
  );
}

// One pattern per phrase, compiled for two-byte strings, took 4 GB and crashed the process.
test('a post with a curly quote takes no more memory than others, with a hundred full profiles', () => {
  const before = process.memoryUsage().rss;
  const profiles = fullProfiles(100);
  const matcher = compileLists(profiles.map(({ profile }) => profile));
  const text = `We’re looking for a CRM. ${'some words about our work '.repeat(60)}`.slice(0, 1_500);
  const reading = readPost({ ...UNKNOWN, text });
  const hits = matcher.match(reading.tokens);
  for (const [i, profile] of profiles.entries()) scorePost(reading, profile, hits.get(i) ?? []);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
});

test.each(['1', '1,', '$', '1 k', 'which ', 'looking for a ', 'we ', '9.9 k usd', '!', '!"', '?) '])(
  'a text of %j, over and over, is read in milliseconds',
  (unit) => {
    const text = unit.repeat(20_000 / unit.length);
    readPost({ ...UNKNOWN, text: 'warm up' });
    expect(cpuMsOf(() => readPost({ ...UNKNOWN, text }))).toBeLessThan(50);
  },
);
