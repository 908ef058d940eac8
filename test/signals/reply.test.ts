import { expect, test } from 'vitest';
import {
  DEFAULT_REPLY,
  draftReply,
  firstNameOf,
  needOf,
  offerSentence,
  type ReplyValues,
} from '../../src/signals/triage.ts';

const VALUES: ReplyValues = {
  first_name: 'Jane',
  need: 'looking for a help desk',
  headline: 'Which help desk?',
  community: 'r/SaaS on Reddit',
  offer: 'Acme is a help desk for small teams.',
  sender: 'Acme',
};

test('the default template greets, names the need and the offer, and signs', () => {
  expect(draftReply(DEFAULT_REPLY, VALUES)).toBe(
    'Hi Jane,\n\nI saw that you are looking for a help desk.\nAcme is a help desk for small teams.\n\n' +
      'Happy to answer questions here or show you how it would work for you.\n\nAcme',
  );
});

test('a line without a value is omitted, a missing name only itself', () => {
  expect(draftReply(DEFAULT_REPLY, { ...VALUES, first_name: '', need: '', offer: '' })).toBe(
    'Hi,\n\nHappy to answer questions here or show you how it would work for you.\n\nAcme',
  );
  expect(draftReply('{{ first_name }}: {{headline}} / {{community}}', VALUES)).toBe(
    'Jane: Which help desk? / r/SaaS on Reddit',
  );
});

test('a placeholder in the text of a post is not replaced', () => {
  expect(draftReply('{{headline}}', { ...VALUES, headline: '{{sender}} $& $1' })).toBe('{{sender}} $& $1');
});

test.each([
  ['Scheduling software for plumbing firms', 'We offer scheduling software for plumbing firms.'],
  ['An app plumbers use to schedule jobs.', 'We offer an app plumbers use to schedule jobs.'],
  ['SOC 2 compliance automation', 'We offer SOC 2 compliance automation.'],
  ['AI meeting notes for lawyers', 'We offer AI meeting notes for lawyers.'],
  ['We help B2B companies write better cold emails', 'We help B2B companies write better cold emails.'],
  ['Acme is a help desk for small teams.', 'Acme is a help desk for small teams.'],
  ['Fractional CFO services for startups', 'We offer fractional CFO services for startups.'],
  ['', ''],
])('an offer becomes a sentence: %s', (offer, sentence) => {
  expect(offerSentence(offer)).toBe(sentence);
});

test('a need is expressed in the second person', () => {
  const reason = { text: 'Looking for a CRM for their agency', quote: 'We need a CRM.' };
  expect(needOf({ sentence: '', reasons: [reason], against: [] })).toBe('looking for a CRM for your agency');
  expect(needOf({ sentence: '', reasons: [{ ...reason, quote: null }], against: [] })).toBe('');
  expect(needOf({ sentence: '', reasons: [], against: [] })).toBe('');
  expect([firstNameOf('Jane Doe'), firstNameOf('shop_owner77'), firstNameOf('')]).toEqual([
    'Jane',
    'shop_owner77',
    '',
  ]);
});
