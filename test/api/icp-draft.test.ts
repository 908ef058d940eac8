import { expect, test } from 'vitest';
import { icpInputSchema } from '../../src/model/icp.ts';
import { draftFromOffer } from '../../src/signals/draft.ts';
import { buildTestApp } from '../support/app.ts';

test('an offer of a known kind is drafted with the words of those who want it, and whom they compare', () => {
  const draft = draftFromOffer('We sell a simple CRM for plumbers in Texas', null);
  expect(draft.phrases).toEqual(expect.arrayContaining(['crm', 'sales pipeline', 'HubSpot alternative']));
  expect(draft.competitors).toContain('Salesforce');
  expect(draft.titles).toContain('Head of Sales');
  expect(draft.locations).toEqual(['Texas']);
  expect(draft.industries).toContain('plumbers');
  expect(draft.name).toBe('Buyers of crm');
});

test('an offer of no known kind is drafted from its own words', () => {
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
  '%s is drafted for who buys it: not for whom it is sold to, nor from words that are in every post',
  (offer, phrase, never) => {
    const { name, phrases, competitors } = draftFromOffer(offer, null);
    expect(phrases).toContain(phrase);
    for (const each of [name, ...phrases, ...competitors]) expect(each).not.toMatch(never);
    expect(phrases.join(' ')).not.toMatch(/recommendations|looking for/);
  },
);

test('who sells is no competitor of their own', () => {
  expect(draftFromOffer('A CRM', { name: 'HubSpot' }).competitors).not.toContain('HubSpot');
});

test.each([
  'CRM',
  'We do plumbing & heating, roofs, web design and bookkeeping in Leeds, UK!',
  '软件',
  'the best of all',
])('what is drafted from %j can be created as it is', async (offer) => {
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
});
