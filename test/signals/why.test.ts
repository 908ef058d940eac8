import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText } from '../../src/lib/markdown-text.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import type { Explanation, Factor } from '../../src/model/signal.ts';
import { headlineOf, whereOf, whyOf } from '../../src/signals/why.ts';
import { compileOne } from '../support/compile.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { scoreAlone } from '../support/score-alone.ts';

const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };
const compiled = compileOne(defaultProfile('icp_1', 'ten_1', 0));

function whyOfPost(text: string, type: Parameters<typeof whyOf>[0]['type'] = 'intent_post') {
  return whyOf({ text, type, explanation: scoreAlone({ ...UNKNOWN, text }, compiled) });
}

test.each([
  [
    'We are leaving Freshdesk this quarter. Which tool should we buy instead?',
    'Leaving Freshdesk this quarter and asking which tool to buy',
  ],
  [
    'Looking for a help desk for our 12 person support team. Any recommendations?',
    'Looking for a help desk for their 12 person support team',
  ],
  ['Looking to replace Housecall Pro before spring. 14 trucks.', 'Replacing Housecall Pro before spring'],
  [
    'Kubecost vs OpenCost vs CAST AI: we have to pick one before the end of the quarter',
    'Comparing Kubecost, OpenCost and CAST AI before the end of the quarter',
  ],
  [
    'Ask HN: which shared inbox do you use for support? Front is too expensive',
    'Asking what others use and unhappy with the price',
  ],
  [
    'Looking for a booking system for our repair firm, recommendations? Budget is $500 a month and we need to choose one by Friday.',
    'Looking for a booking system for their repair firm by Friday, with a budget of $500 a month',
  ],
  [
    'Can anyone recommend dispatch software? We are a team of 25, the budget is approved, and we have to decide this month.',
    'Looking for dispatch software this month, with an approved budget',
  ],
  [
    'We are leaving Zendesk: it is slow, it is expensive, and support never answers. Looking for a shared inbox instead, what do you use?',
    'Leaving Zendesk and looking for a shared inbox, unhappy with the price',
  ],
  [
    'Shelfbot raised our price again. We are thinking of leaving.',
    'Thinking of switching and unhappy with the price',
  ],
  [
    '**Need a CRM** for my [agency](https://x.test/a)?\n\nWe use HubSpot &amp; hate it.',
    'Looking for a CRM for their agency, using HubSpot today',
  ],
  ['Datadog alternatives? Our bill doubled.', 'Looking for an alternative to Datadog'],
  ['Stripe and PayPal alternatives for my SaaS?', 'Looking for an alternative to Stripe or PayPal'],
  ["what's the best invoicing app for freelancers", 'Looking for the best invoicing app for freelancers'],
  ['We need a bookkeeper for our bakery in Leeds', 'Looking for a bookkeeper for their bakery in Leeds'],
  [
    'Migrating 200 tasks from Coralogix on a strict $4k budget. What are our options?',
    'Leaving Coralogix, with a budget of $4k',
  ],
  [
    'Does anyone here have recommendations for a payroll provider?',
    'Asking for recommendations for a payroll provider',
  ],
  [
    'We have outgrown our spreadsheets and are looking for a simple CRM.',
    'Outgrowing spreadsheets and looking for a simple CRM',
  ],
  ['We are torn between Attio and HubSpot, which one would you pick?', 'Comparing Attio and HubSpot'],
  ['What do other support teams use for live chat?', 'Asking what others use'],
  ['Is there an app that sends invoices by itself?', 'Asking for an app'],
])('%s', (text, sentence) => {
  expect(whyOfPost(text).sentence).toBe(sentence);
});

test('for a review, the sentence starts with what its author does next', () => {
  const text = 'Looking to replace Housecall Pro before spring. 14 trucks.';
  const rival = compileOne({ ...defaultProfile('icp_1', 'ten_1', 0), competitors: ['Housecall Pro'] });
  const explanation = scoreAlone({ ...UNKNOWN, text }, rival);
  expect(whyOf({ text, type: 'review', explanation }).sentence).toBe('Replacing Housecall Pro before spring');
});

test.each([
  ['Show HN: we built a CRM for plumbers. Pricing from $9 per month.', 'Promotes its own product'],
  ['We already switched to Acme last month and are so happy with it.', 'Already decided'],
  ['Are you looking for a CRM? Our agency can help, book a call.', 'Promotes its own product'],
])('a cold post names the deciding reason against it: %s', (text, against) => {
  expect(whyOfPost(text)).toMatchObject({ sentence: against, against: [against] });
});

test.each([
  ['We are not looking for a new CRM, ours works well.', /looking for/i],
  ['You should leave Freshdesk, they said.', /^leaving/i],
  ['They are replacing Zendesk next year, I read.', /^replacing/i],
  ['Looking for feedback on my landing page.', /looking for/i],
  ['We have budget, and there are companies that are crashing because of AI. Need a CRM.', /unhappy/i],
  ['I am looking for a job in sales, any recommendations for recruiters?', /looking for a job/i],
])('nothing is attributed to the author that they did not say: %s', (text, wrong) => {
  expect(whyOfPost(text).sentence).not.toMatch(wrong);
});

const factor = (key: string, points: number, label = key, quotes: string[] = []): Factor => ({
  ...{ key, points, max: Math.max(0, points), label },
  evidence: quotes.map((text) => ({
    field: key === 'fit' ? 'title' : 'text',
    start: 0,
    end: text.length,
    text,
  })),
});
const explained = (score: number, factors: Factor[], negatives: Factor[] = []): Explanation => ({
  ...{ score, coverage: 1, model_version: 'x', thresholds: { hot: 70, warm: 40 }, summary: '' },
  factors,
  negatives,
});

test('a negative is named only if the class would be better without it', () => {
  const against = (negatives: Factor[]) =>
    whyOf({ text: 'Hm.', type: 'intent_post', explanation: explained(60, [factor('offer', 70)], negatives) })
      .against;
  expect(against([factor('age', -12, 'Posted 12 days ago')])).toEqual(['Posted 12 days ago']);
  expect(against([factor('age', -3, 'Posted 12 days ago')])).toEqual([]);
  const hot = explained(90, [factor('offer', 95)], [factor('talk', -5, 'General discussion')]);
  expect(whyOf({ text: 'Hm.', type: 'intent_post', explanation: hot }).against).toEqual([]);
});

test('there are at most three reasons, each with a quote, and none twice', () => {
  const why = whyOfPost(
    'We are leaving Zendesk: it is expensive. Looking for a shared inbox this month, budget is $90 a month. We use Jira.',
  );
  expect(why.reasons.map(({ text }) => text)).toEqual([
    'Leaving Zendesk',
    'Looking for a shared inbox',
    'Unhappy with the price',
  ]);
  expect(why.reasons[0]?.quote).toBe('We are leaving Zendesk: it is expensive.');
});

test('events name the person or company and what happened', () => {
  const round = explained(80, [factor('trigger', 80, 'Buying trigger', ['raised'])]);
  const text = 'Acme raised a $12M Series A round to grow its support team.';
  expect(whyOf({ text, type: 'funding_event', explanation: round }).sentence).toBe(
    'Acme raised $12M Series A round',
  );
  const hire = whyOf({
    ...{ text: 'Thrilled to join!', type: 'job_change', explanation: round },
    ...{ company: { name: 'Acme' }, prospect: { name: 'Ida Brandt', title: 'Head of Support' } },
  });
  expect(hire.sentence).toBe('Ida Brandt started at Acme as Head of Support');
});

test('without recognised words in the post, the parts of its score explain it', () => {
  const parts = [
    factor('offer', 50),
    factor('pain', 12, 'pain', ['Shopify']),
    factor('fit', 9, 'fit', ['CTO']),
  ];
  const why = whyOf({ text: 'Hm.', type: 'intent_post', explanation: explained(71, parts) });
  expect(why.sentence).toBe('Wants what you offer and describes a problem with Shopify');
  expect(why.reasons.map(({ text }) => text)).toContain('Fits your audience (CTO)');
  const nothing = whyOf({ text: 'Hm.', type: 'intent_post', explanation: explained(0, []) });
  expect(nothing.sentence).toBe('Nothing in the post asks to buy anything');
});

test('any text has a sentence on one line', () => {
  const words = fc.constantFrom(
    'leaving ',
    'We ',
    'vs ',
    'Acme',
    '?',
    '\n',
    '**',
    '[a](',
    '😀',
    'best ',
    'for ',
    '$5',
    '_',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(words).map((all) => all.join('')),
      ),
      (text) => {
        const { sentence, reasons } = whyOfPost(text || '.');
        expect(sentence).toMatch(/^[^\n]{3,151}$/u);
        expect(reasons.length).toBeLessThanOrEqual(3);
        expect(headlineOf(text)).toMatch(/^[^\n]{1,141}$/u);
      },
    ),
    { numRuns: 60 },
  );
});

test.each([
  ['Customer Service Software?\n\nHello friends, I found myself in a pickle.', 'Customer Service Software?'],
  ['# Which **CRM**?\nbody', 'Which CRM?'],
  [
    'Hello all, first post here and a long one, as I have been reading for years and learnt a great deal from everybody here. We sell shoes. Which help desk would you recommend for a team of six? Thanks.',
    'Which help desk would you recommend for a team of six?',
  ],
  ['R&amp;D tools\n\nx', 'R&D tools'],
  [
    'Looking for scheduling software for a 12-van firm. The budget is approved. What do you all use?',
    'Looking for scheduling software for a 12-van firm.',
  ],
  [
    'We are leaving Freshdesk this quarter. Which tool should we buy instead?',
    'We are leaving Freshdesk this quarter.',
  ],
  [
    'Two stars. The app is slow and the price went up. We are leaving.',
    'Two stars. The app is slow and the price went up.',
  ],
  ['Ask HN: which shared inbox do you use? Front is too expensive', 'Ask HN: which shared inbox do you use?'],
  ['Any recommendations?', 'Any recommendations?'],
  [
    'Thanks for all. We switched to another tool in spring.',
    'Thanks for all. We switched to another tool in spring.',
  ],
  ['', 'Untitled post'],
])('the headline of a post is its title or the sentence that asks: %s', (text, headline) => {
  expect(headlineOf(text)).toBe(headline);
});

test.each([
  ['**STAT** and *this* and ***both***', 'STAT and this and both'],
  ['see [r/ecommerce](https://reddit.com/r/ecommerce) now', 'see r/ecommerce now'],
  ['![a cat](https://x.test/cat_(1).png)!', 'a cat!'],
  ['# Head\n> quoted\n* one\n- two\n---\nend', 'Head\nquoted\n• one\n- two\n\nend'],
  ['snake_case_name and 2 * 3 * 4 and 5*6*7', 'snake_case_name and 2 * 3 * 4 and 5*6*7'],
  ['AT&amp;T \\~600 people \\_ `code`', 'AT&T ~600 people _ code'],
  ['[not a link] (really) **open', '[not a link] (really) **open'],
])('Markdown is converted to plain text: %s', (text, shown) => {
  expect(plainText(text)).toBe(shown);
});

test.each([
  ['reddit', 'https://www.reddit.com/r/SaaS/comments/1/x/', 'r/SaaS on Reddit'],
  ['reddit', '', 'Reddit'],
  ['hackernews', 'https://news.ycombinator.com/item?id=1', 'Hacker News'],
  ['lemmy', 'https://lemmy.example/c/selfhosted/post/1', 'c/selfhosted on Lemmy'],
  ['github', 'https://github.com/acme/app/discussions/1', 'acme/app on GitHub'],
  ['discourse', 'https://forum.acme.example/t/1', 'forum.acme.example'],
  ['stackexchange', 'https://stackoverflow.com/q/1', 'stackoverflow.com'],
  ['my-forum', 'https://forum.acme.example/1', 'forum.acme.example'],
  ['my-forum', 'not an address', 'My forum'],
])('a post on %s at %s is shown as “%s”', (name, post_url, where) => {
  expect(whereOf({ name, post_url })).toBe(where);
});

test('text of nothing but markup is converted fast', () => {
  const started = performance.now();
  for (const mark of ['*a', '[', '[a](', '_a ', '`', '\\', '> ', '&', 'vs A ', 'leaving ', 'A, ', 'a-'])
    whyOf({ text: mark.repeat(20_000 / mark.length), type: 'intent_post', explanation: explained(50, []) });
  expect(performance.now() - started).toBeLessThan(3_000);
});

test.each([
  // 250 ms when each "Leave" read all the names after it, 2 ms since.
  ['names after words of leaving', 'Leave I '.repeat(625) + 'B '.repeat(7_500), 30],
  // 25 ms when each "need a" read its sentence to the end, 6 ms since.
  ['requests without an object', 'need a it '.repeat(2_000), 15],
])('a post of nothing but %s is explained fast', (_, text, most) => {
  const explain = () => whyOf({ text, type: 'intent_post', explanation: explained(50, []) });
  explain();
  // The least of ten: until it is compiled by V8, and beside other work, it takes up to three times as long.
  expect(Math.min(...Array.from({ length: 10 }, () => cpuMsOf(explain)))).toBeLessThan(most);
});

test('a name has at most three words', () => {
  const { reasons } = whyOfPost('We are leaving Big Red Box 365 Group this quarter. Any recommendations?');
  expect(reasons[0]?.text).toBe('Leaving Big Red Box');
});
