import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { candidatesOf, type ProfileRule } from '../../src/signals/matchers.ts';
import { candidatesInDoubt } from '../../src/signals/meaning.ts';
import { readPost, type ScoredPost } from '../../src/signals/score.ts';
import { compileTenant } from '../support/compile.ts';

const ANY = { profileIds: [], wanted: undefined };

function aProfile(id: string, overrides: Partial<IcpProfile> = {}): IcpProfile {
  return { ...defaultProfile(id, 'ten_1', 0), name: id, phrases: ['nothing of this'], ...overrides };
}

/** IDs of the profiles that a text is scored with. */
async function chosen(
  profiles: IcpProfile[],
  text: string,
  rule: Partial<ProfileRule> = {},
  facts: Partial<ScoredPost> = {},
  nextTurn = async () => {},
) {
  const matcher = compileTenant(profiles);
  const unknown = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const reading = readPost({ ...unknown, ...facts, text });
  const hits = matcher.match(reading.tokens);
  const candidates = await candidatesOf(matcher, reading, hits, { ...ANY, ...rule }, nextTurn);
  return candidates.map(({ compiled }) => compiled.profile.id);
}

const PROFILES = [
  aProfile('other'),
  aProfile('crm', { phrases: ['CRM'] }),
  aProfile('open', { phrases: [] }),
  aProfile('paused', { phrases: ['CRM'], active: false }),
  aProfile('excluding', { excludedPhrases: ['CRM'] }),
];

test('a post is scored with the profiles whose phrases it contains, and with those that need none', async () => {
  expect(await chosen(PROFILES, 'a CRM')).toEqual(['crm', 'open']);
});

test('a rule or the post itself selects the profiles', async () => {
  expect(await chosen(PROFILES, 'a CRM', { profileIds: ['crm', 'paused'] })).toEqual(['crm']);
  expect(await chosen(PROFILES, 'a CRM', { wanted: 'paused' })).toEqual(['paused']);
  expect(await chosen(PROFILES, 'a CRM', { wanted: 'unknown' })).toEqual([]);
});

test('if a post contains no phrase of any profile, some of the oldest stand in', async () => {
  const profiles = Array.from({ length: 1_000 }, (_, i) => aProfile(`icp_${i}`));
  expect(await chosen(profiles, 'small talk')).toEqual(profiles.slice(0, 16).map(({ id }) => id));
});

test('an event is scored with the profiles it fits, without any of their phrases', async () => {
  const profiles = [
    aProfile('logistics', { industries: ['Logistics'] }),
    aProfile('banks', { industries: ['Banking'] }),
  ];
  const facts = { type: 'funding_event', industry: 'Logistics' } as const;
  expect(await chosen(profiles, 'Kestrel raises $12M Series A to grow', {}, facts)).toEqual(['logistics']);
});

test('comparing with the criteria of each profile offers a turn to others', async () => {
  const profiles = Array.from({ length: 30 }, (_, i) => aProfile(`icp_${i}`, { locations: ['Texas'] }));
  let turns = 0;
  const next = async () => void turns++;
  expect(await chosen(profiles, 'small talk', {}, { location: 'Austin' }, next)).toHaveLength(30);
  expect(turns).toBe(30);
});

test('asking for which profiles the encoder decides offers a turn to others', async () => {
  const { profiles } = compileTenant(
    Array.from({ length: 30 }, (_, i) => aProfile(`icp_${i}`, { phrases: [] })),
  );
  const unknown = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const reading = readPost({ ...unknown, text: 'Looking for a CRM' }, true);
  const candidates = profiles.map((compiled) => ({ compiled, hits: [] }));
  let turns = 0;
  const nextTurn = async () => void turns++;
  expect(await candidatesInDoubt(reading, candidates, { most: 31, nextTurn })).toHaveLength(30);
  expect(turns).toBe(30);
  expect(await candidatesInDoubt(reading, candidates, { most: 2, nextTurn })).toHaveLength(2);
  expect(turns).toBe(32);
});
