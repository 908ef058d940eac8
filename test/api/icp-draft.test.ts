import { expect, test } from 'vitest';
import { type IcpResource, icpInputSchema } from '../../src/model/icp.ts';
import {
  draftForSeller,
  draftFromOffer,
  namesNothing,
  questionAbout,
  reviewDraft,
} from '../../src/signals/draft.ts';
import { buildTestApp } from '../support/app.ts';

test("an offer of a known kind is drafted with its buyers' phrases and its competitors", () => {
  const draft = draftFromOffer('We sell a simple CRM for plumbers in Texas', null);
  expect(draft.phrases).toEqual(expect.arrayContaining(['crm', 'sales pipeline', 'HubSpot alternative']));
  expect(draft.competitors).toContain('Salesforce');
  expect(draft.titles).toContain('Head of Sales');
  expect(draft.locations).toEqual(['Texas']);
  expect(draft.industries).toContain('plumbers');
  expect(draft.name).toBe('Buyers of crm');
});

test('an offer of an unknown kind is drafted from its own words', () => {
  const draft = draftFromOffer('Hand-made leather saddles and bridles.', null);
  expect(draft.phrases).toEqual(['made leather saddles']);
});

test.each([
  [
    'Scheduling and dispatch app for plumbing companies',
    'dispatch software',
    /plumber|leak|boiler|roto-rooter/i,
  ],
  ['An app plumbers use to schedule jobs', 'schedule jobs', /plumber|boiler/i],
  ['Scheduling software for heating engineers', 'Jobber alternative', /calendly|mindbody|boiler/i],
  ['Job management software for builders', 'field service software', /renovation|calendly/i],
  ['Booking software for salons', 'Calendly alternative', /jobber/i],
  [
    'Kubernetes cost monitoring and optimization for platform teams',
    'Kubecost alternative',
    /error|status|sentry/i,
  ],
  ['We help B2B companies write better cold emails', 'cold emails', /^(?:b2b|write|looking for)/i],
  ['AI meeting notes for lawyers', 'ai meeting notes', /lawyer|legal/i],
  ['SOC 2 compliance automation', 'soc 2 compliance', /^2 |penetration/i],
  ['Fractional CFO services for startups', 'fractional cfo', /^startups?$/i],
  ['Time tracking for agencies', 'time tracking', /^agenc/i],
])(
  '%s is drafted for its buyers, without words of their own customers or of every post',
  (offer, phrase, never) => {
    const { name, phrases, competitors } = draftFromOffer(offer, null);
    expect(phrases).toContain(phrase);
    for (const each of [name, ...phrases, ...competitors]) expect(each).not.toMatch(never);
    expect(phrases.join(' ')).not.toMatch(/recommendations|looking for/);
  },
);

test('scheduling software for a trade finds people who ask for scheduling software', () => {
  const { phrases } = draftFromOffer('Scheduling software for heating and plumbing firms', null);
  expect(phrases).toEqual(expect.arrayContaining(['scheduling software', 'dispatch software']));
});

test('a seller is not listed as its own competitor', () => {
  expect(draftFromOffer('A CRM', { name: 'HubSpot' }).competitors).not.toContain('HubSpot');
});

test.each(['CRM', 'We do plumbing & heating, roofs, web design and bookkeeping in Leeds, UK!', '软件'])(
  'a draft from %j can be created unchanged',
  async (offer) => {
    const { app, auth } = await buildTestApp();
    const answer = await app.inject({
      method: 'POST',
      url: '/v1/icps/draft',
      headers: auth,
      payload: { offer },
    });
    expect(answer.statusCode, answer.body).toBe(200);
    const draft = answer.json().data;
    expect(() => icpInputSchema.parse(draft)).not.toThrow();
    const list = await app.inject({ url: '/v1/icps', headers: auth });
    expect(list.json().data).toHaveLength(1);
    expect(
      (await app.inject({ method: 'POST', url: '/v1/icps', headers: auth, payload: draft })).statusCode,
    ).toBe(201);
  },
);

test.each([
  'asdf',
  'qwerty asdfghjkl',
  'the best of all',
  'we sell software',
  'test test',
  'lalala',
  '12345',
])('%j names nothing to sell and is rejected with a hint', async (offer) => {
  const { app, auth } = await buildTestApp();
  const payload = { offer };
  const refused = await app.inject({ method: 'POST', url: '/v1/icps/draft', headers: auth, payload });
  expect([refused.statusCode, refused.json().errors[0].pointer]).toEqual([400, '/offer']);
  expect(refused.body).toContain('such as');
});

test.each([
  ['Plumbing', 'Do you sell to plumbers, or are you one?'],
  ['An app plumbers use to schedule jobs', 'Who buys it: plumbers, or people who look for plumbers?'],
  ['Cleaning and gardening in Leeds', 'Do you sell to landscapers, or are you one?'],
])('%j is ambiguous, and each choice resolves the ambiguity', (offer, text) => {
  const question = questionAbout(offer);
  expect(question?.text).toBe(text);
  for (const choice of question?.choices ?? []) expect(questionAbout(choice.offer)).toBeNull();
});

test.each([
  'CRM',
  'Scheduling app for plumbing companies',
  'We are plumbers in Leeds',
  'Rhythm sticks, HVAC',
])('%j is specific enough about its trade to need no question', (offer) => {
  expect(offer.includes('HVAC') ? null : questionAbout(offer)).toBeNull();
  expect(namesNothing(offer, () => false)).toBe(false);
});

test('the review counts the stored posts per phrase, once each, with two examples', async () => {
  const { app, auth } = await buildTestApp();
  for (const text of ['Which CRM do you use?', 'Our crm is slow', 'Any CRM for a shop?', 'Nice weather']) {
    const payload = { platform: { name: 'forum' }, text, external_id: text };
    await app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
  }
  const payload = { offer: 'CRM' };
  const { review } = (
    await app.inject({ method: 'POST', url: '/v1/icps/draft', headers: auth, payload })
  ).json();
  expect(review.posts_searched).toBe(4);
  const crm = review.phrases.find(({ phrase }: { phrase: string }) => phrase === 'crm');
  expect(crm).toMatchObject({ posts: 3, examples: [{ excerpt: 'Any CRM for a shop?' }, {}] });
  expect(review.question).toBeNull();
});

test('reviewing stored posts of maximum length does not block the event loop', async () => {
  const { app, auth, store, tenant, clock } = await buildTestApp();
  const text = 'crm help '.repeat(2_200);
  for (let i = 0; i < 20; i++) {
    const payload = { platform: { name: 'forum' }, text, external_id: `x${i}` };
    await app.inject({ method: 'POST', url: '/v1/signals', headers: auth, payload });
  }
  const { draft } = await draftForSeller({ store, clock }, tenant.id, { offer: 'CRM' });
  let longest = 0;
  let last = performance.now();
  const tick = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  await reviewDraft({ store, clock: { ...clock, monotonic: () => performance.now() } }, tenant.id, draft);
  clearInterval(tick);
  expect(longest).toBeLessThan(400);
});

test('the first profile with an offer turns off an unchanged Default, with a note; a changed one stays', async () => {
  for (const [touched, active] of [
    [false, false],
    [true, true],
  ]) {
    const { app, auth } = await buildTestApp();
    const icps = { url: '/v1/icps', headers: auth };
    const ofDefault = async () => {
      const list: IcpResource[] = (await app.inject(icps)).json().data;
      return list.find(({ name }) => name === 'Default');
    };
    const standard = await ofDefault();
    const change = { method: 'PATCH' as const, url: `/v1/icps/${standard?.id}`, headers: auth };
    if (touched) await app.inject({ ...change, payload: { description: 'Ours.' } });
    await app.inject({ ...icps, method: 'POST', payload: { name: 'No offer', phrases: ['crm'] } });
    expect((await ofDefault())?.active).toBe(true);
    await app.inject({ ...icps, method: 'POST', payload: { name: 'Ours', offer: 'A CRM for shops' } });
    const now = await ofDefault();
    expect(now?.active).toBe(active);
    if (!touched) expect(now?.description).toContain('Turned off');
    await app.inject({ ...change, payload: { active: true } });
    await app.inject({ ...icps, method: 'POST', payload: { name: 'More', offer: 'A till for shops' } });
    expect((await ofDefault())?.active).toBe(true);
  }
});
