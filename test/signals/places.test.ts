import { expect, test } from 'vitest';
import { READERS } from '../../src/detection/run.ts';
import { createAddressSet } from '../../src/lib/network.ts';
import { NO_SETTINGS } from '../../src/model/constants.ts';
import { defaultProfile, type IcpProfile } from '../../src/model/icp.ts';
import { draftFromOffer } from '../../src/signals/draft.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import { NEEDS_OWN_APP, placeNamed, proposePlaces, readPlaces } from '../../src/signals/places.ts';
import { closedPlaceAt, settingsOf } from '../../src/signals/source-management.ts';
import { SECRET_BOX } from '../detection/harness.ts';
import { countTurns } from '../support/turn.ts';

const profileFor = (offer: string): IcpProfile => {
  const { phrases, competitors, industries, titles } = draftFromOffer(offer, null);
  return { ...defaultProfile('icp_1', 'ten_a', 0), offer, phrases, competitors, industries, titles };
};
const propose = (offer: string, encoder: Encoder | null = null, sources = [] as never[]) =>
  proposePlaces(profileFor(offer), { encoder, sources, count: 6 });

test('the catalogue has at least 300 distinct places of readable kinds with valid settings', () => {
  const places = readPlaces();
  expect(places.length).toBeGreaterThanOrEqual(300);
  expect(new Set(places.map(({ name }) => name.toLowerCase())).size).toBe(places.length);
  expect(new Set(places.map(({ kind, settings }) => JSON.stringify([kind, settings]))).size).toBe(
    places.length,
  );
  const deps = { allowTargets: createAddressSet([]), secretBox: SECRET_BOX };
  for (const { kind, name, settings, about } of places) {
    expect(READERS[kind], name).toBeDefined();
    expect(about.length, name).toBeGreaterThan(4);
    if (settings.url !== null) expect([name, closedPlaceAt(settings.url)]).toEqual([name, null]);
    if (NEEDS_OWN_APP.includes(kind)) continue;
    const whole = { ...settings, query: settings.query ?? (kind === 'stackexchange' ? 'crm' : null) };
    expect(() => settingsOf(deps, kind, NO_SETTINGS, whole), name).not.toThrow();
    if (settings.url !== null) expect([name, new URL(settings.url).protocol]).toEqual([name, 'https:']);
  }
});

test.each([
  ['Help desk and shared inbox for customer support teams', /help desk|support|Zendesk|Zammad/i],
  ['Kubernetes cost monitoring for platform teams', /kubernetes|cloud|devops/i],
  ['Heat pump installation, for homes and businesses', /heat ?pump|heating|HVAC|plumb/i],
  ['Accounting software for bakeries', /account|bookkeep|quickbooks/i],
])('without an encoder, %s is offered places by words', async (offer, fitting) => {
  const places = await propose(offer);
  expect(places.length).toBeGreaterThanOrEqual(4);
  const catalogued = places.filter(({ about }) => !about.startsWith('people who want to leave'));
  for (const { name, about } of catalogued.slice(0, 3)) expect(`${name} ${about}`).toMatch(fitting);
});

test.each([
  [
    'Scheduling software for heating and plumbing firms',
    /plumb|heating|scheduling|field service|construction/i,
  ],
  ['Scheduling and dispatch app for plumbing companies', /plumb|field service|construction/i],
  ['Payroll for restaurants', /restaurant|payroll|onboarding/i],
  ['AI meeting notes for lawyers', /lawyer|meeting|notes/i],
])('%s is not offered places that share only business words with it', async (offer, fitting) => {
  for (const { name, about } of await propose(offer)) {
    if (about.startsWith('people who want to leave')) continue;
    expect(`${name} ${about}`).toMatch(fitting);
  }
});

test('with an encoder, places are chosen by the meaning of the offer', async () => {
  const wanted = 'dentists and dental practices';
  const encode = async ([text = '']: readonly string[]) => ({
    numbers: Float32Array.from(text === wanted || text === 'Chairs' ? [1, 0] : [0, 1]),
    shares: new Float32Array(),
  });
  const encoder = { encode } as unknown as Encoder;
  const [first] = await propose('Chairs', encoder);
  expect(first?.about).toBe(wanted);
});

test('at most two unread places of one kind are suggested, and first those of people who leave a competitor', async () => {
  const offer = 'Help desk for online shops';
  const places = await propose(offer);
  expect(places[0]?.name).toBe('Hacker News: Zendesk alternative');
  const kinds = places.map(({ kind }) => kind);
  for (const kind of kinds) expect(kinds.filter((each) => each === kind).length).toBeLessThanOrEqual(2);
  const again = await propose(offer, null, places.slice(0, 2) as never[]);
  expect(again.map(({ name }) => name)).not.toContain(places[0]?.name);
  expect(again.map(({ name }) => name)).not.toContain(places[1]?.name);
});

test('the texts of a large profile are split into words in several turns', async () => {
  const terms = Array.from({ length: 200 }, (_, n) => `${n} ${'\u{fdfa}'.repeat(190)}`);
  const turns = countTurns();
  const profile = { ...profileFor('Help desk'), phrases: terms, industries: terms, titles: terms };
  expect(await proposePlaces(profile, { encoder: null, sources: [], count: 6 })).toHaveLength(6);
  expect(turns()).toBeGreaterThan(1);
});

test('a site with many questions is searched for the phrases of the profile', () => {
  const place = placeNamed('Software Recommendations (Stack Exchange)', profileFor('Help desk'));
  expect(place?.settings).toMatchObject({ site: 'softwarerecs', query: 'help desk' });
});

test.each([
  ['https://www.linkedin.com/feed/', 'LinkedIn'],
  ['https://www.facebook.com/groups/hvac', 'Facebook'],
  ['https://x.com/acme', 'X'],
  ['https://www.youtube.com/@acme', 'YouTube'],
  ['https://uk.trustpilot.com/review/acme.example', 'Trustpilot'],
  ['https://netflix.com', null],
  ['https://forum.example.com', null],
])('%s: %s', (address, name) => {
  expect(closedPlaceAt(address)).toBe(name);
});
