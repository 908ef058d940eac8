import { expect, test } from 'vitest';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { candidatesOf } from '../../src/signals/matchers.ts';
import { readPost, type ScoredPost } from '../../src/signals/score.ts';
import { compileTenant } from '../support/compile-tenant.ts';

const ANY = { profileIds: [], wanted: undefined };

function aProfile(id: string, overrides: Partial<IcpProfile> = {}): IcpProfile {
  return { ...defaultProfile(id, 'ten_1', 0), name: id, phrases: ['nothing of this'], ...overrides };
}

/** IDs of the profiles that a text is scored with. */
function chosen(
  profiles: IcpProfile[],
  text: string,
  rule: Partial<Parameters<typeof candidatesOf>[3]> = {},
  facts: Partial<ScoredPost> = {},
) {
  const matcher = compileTenant(profiles);
  const unknown = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const reading = readPost({ ...unknown, ...facts, text });
  const candidates = candidatesOf(matcher, reading, matcher.match(reading.tokens), { ...ANY, ...rule });
  return candidates.map(({ compiled }) => compiled.profile.id);
}

const PROFILES = [
  aProfile('other'),
  aProfile('crm', { phrases: ['CRM'] }),
  aProfile('open', { phrases: [] }),
  aProfile('paused', { phrases: ['CRM'], active: false }),
  aProfile('excluding', { excludedPhrases: ['CRM'] }),
];

test('a post is scored with the profiles whose phrases it contains, and with those that need none', () => {
  expect(chosen(PROFILES, 'a CRM')).toEqual(['crm', 'open']);
});

test('a rule or the post itself selects the profiles', () => {
  expect(chosen(PROFILES, 'a CRM', { profileIds: ['crm', 'paused'] })).toEqual(['crm']);
  expect(chosen(PROFILES, 'a CRM', { wanted: 'paused' })).toEqual(['paused']);
  expect(chosen(PROFILES, 'a CRM', { wanted: 'unknown' })).toEqual([]);
});

test('if a post contains no phrase of any profile, some of the oldest stand in', () => {
  const profiles = Array.from({ length: 1_000 }, (_, i) => aProfile(`icp_${i}`));
  expect(chosen(profiles, 'small talk')).toEqual(profiles.slice(0, 16).map(({ id }) => id));
});

test('an event is scored with the profiles it fits, without any of their phrases', () => {
  const profiles = [
    aProfile('logistics', { industries: ['Logistics'] }),
    aProfile('banks', { industries: ['Banking'] }),
  ];
  const facts = { type: 'funding_event', industry: 'Logistics' } as const;
  expect(chosen(profiles, 'Kestrel raises $12M Series A to grow', {}, facts)).toEqual(['logistics']);
});
