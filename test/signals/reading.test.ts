import { expect, test } from 'vitest';
import { topicFeatures } from '../../src/signals/judge.ts';
import { readFeatures } from '../../src/signals/reading/features.ts';

const namesIn = (text: string) => [...readFeatures(text).features.keys()];

test.each([
  ['There is no budget for a new ERP.', 'budget'],
  ['We have no plans to hire a bookkeeper.', 'hire_supplier'],
  ['We decided against switching from Shopify.', 'switch'],
])('"%s" negates: %s', (text, cue) => {
  const names = namesIn(text);
  expect(names).toContain(`${cue}.denied`);
  expect(names).not.toContain(cue);
  expect(names).not.toContain('thing');
});

test.each([
  ['A customer told me that they needed a CRM.', 'hearsay'],
  ['Which email platform should our agency choose?', 'which'],
  ['I need an accountant for my bakery.', 'business'],
  ['Our project management software helps 10,000 engineers.', 'seller'],
])('"%s" has the feature %s', (text, name) => {
  expect(namesIn(text)).toContain(name);
});

test.each([
  ['Support never answers and we are looking to switch.', 'seek.own', 'seek.denied'],
  ["We're in the market for a new ticketing tool.", 'seek.own', 'news'],
  ['We found a replacement for our fax service.', 'question.done', 'alternative'],
  ['Thanks, we have picked a new CRM over HubSpot, I need no more help.', 'already_bought', 'thing'],
  ['Which security firm would you trust with this?', 'used_by_you', 'used_by_you.told'],
  ['Glad we did not look elsewhere, we stay.', 'first_plural.told', 'first_plural'],
  ["We're an agency that does rebrands.", 'seller', 'thing'],
  ['Time to shop around, our contract ends in June.', 'seek.implied', 'seek.denied'],
])('"%s" has the feature %s, not %s', (text, name, other) => {
  expect(namesIn(text)).toContain(name);
  expect(namesIn(text)).not.toContain(other);
});

test.each([
  'Which host is good for a shop?\n\nEdit: went with the one from Lyon.',
  'Which host is good for a shop?\n\nThanks all. I ended up switching to another one.',
  'Need a bookkeeper.\n\nUpdated 3 May\nThanks.\nWe asked around.\nDecided to move forward with a neighbour.\nCheers.\nBye.\nBye.',
])('a choice after a request settles it: %j', (text) => {
  const { features } = readFeatures(text);
  const { start = 0, end = 0 } = features.get('settled_after')?.place ?? {};
  expect(text.slice(start, end).toLowerCase()).toMatch(/^(?:went|ended|decided)\b/);
});

test.each([
  'Looking for a booking tool for our firm. EDIT: solved, went with Jobber.',
  'Looking for a booking tool for our firm.\n\nEDIT: solved',
  'Need a CRM for 12 people. Which one?\n\nUpdate: found one, thanks all!',
])('an author who closes the thread asks for nothing more, even in a single line: %j', (text) => {
  expect(readFeatures(text).features.has('settled_after')).toBe(true);
});

test.each([
  'Need a CRM for 12 people. Which one? Edit: we have 3k and need to find one this week',
  'Need a CRM for 12 people. Which one?\n\nEdit: still not solved, please help',
])('an edit that continues to ask settles nothing: %j', (text) => {
  expect(readFeatures(text).features.has('settled_after')).toBe(false);
});

test.each([
  'We went with a cheap host and regret it. Which host is good for a shop?',
  'Which host is good for a shop?\n\nWe went with a cheap one. It failed. So did the next. And the next. And that was that.',
  'We settled on a host. It is good.',
])('a choice before the request, or without one, settles nothing: %j', (text) => {
  expect(readFeatures(text).features.has('settled_after')).toBe(false);
});

test.each([
  'Are you looking for a CRM? Our agency helps small firms.',
  'Looking for a reliable freight forwarder? DM us for a quote.',
  'Tired of your payroll provider?\n\nWe offer a free trial.',
])("a wish put into the reader's mouth and answered is a pitch: %j", (text) => {
  const { start = 0, end = 0 } = readFeatures(text).features.get('pitch')?.place ?? {};
  expect(text.slice(start, end).toLowerCase()).toMatch(/^(?:our agency helps|dm us|we offer)$/);
});

test.each([
  'Looking for a CRM. Our agency needs one by May.',
  'Need a bookkeeper? Who does not. Our team is drowning in receipts.',
  'Anyone looking for a CRM too? We are ten people.',
])('not a pitch: %j', (text) => {
  expect(readFeatures(text).features.has('pitch')).toBe(false);
});

test('features next to the topic only count if there is a topic', () => {
  const post = readFeatures('We need a booking system for our team, budget $500.');
  const hit = { kind: 'phrase' as const, phrase: 0, start: 10, end: 24 };
  const beside = (hits: Parameters<typeof topicFeatures>[1]) =>
    [...topicFeatures(post, hits).keys()].filter((name) => name.startsWith('topic_and.'));
  expect(beside([])).toEqual([]);
  expect(beside([hit])).toEqual(expect.arrayContaining(['topic_and.thing', 'topic_and.budget']));
});
