import { afterAll, expect, test } from 'vitest';
import { defaultProfile } from '../../src/model/icp.ts';
import { createEncoder, type Encoder } from '../../src/signals/encoder/encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { readPost, scorePost } from '../../src/signals/score.ts';
import { compileOne } from '../support/compile.ts';

/**
 * Posts that ask, and similar ones that do not: negated, by sellers, second-hand, about jobs, by consumers.
 * None was used for training.
 */
const PAIRS: readonly (readonly [asks: string, not: string])[] = [
  [
    "We're in the market for a new ticketing tool.",
    "We're no longer in the market for a new ticketing tool.",
  ],
  ['I need a good accountant for my bakery.', "I don't need an accountant for my bakery any more."],
  [
    'Our office is looking for a cleaning contractor.',
    'Our office is not looking for a cleaning contractor.',
  ],
  ['We want to replace our phone system.', 'We never wanted to replace our phone system.'],
  [
    'Searching for a warehouse partner in Ohio for our store.',
    'Stopped searching for a warehouse partner, nobody fits us.',
  ],
  [
    'Could someone suggest an inventory app for our shop?',
    'Please stop suggesting inventory apps, we have one.',
  ],
  [
    'We are considering moving our servers to another host.',
    'We are not considering moving our servers to another host.',
  ],
  [
    'Any alternatives to Zendesk for a team of five?',
    'No alternative to Zendesk is worth it, so we stay with it.',
  ],
  [
    'Which email platform should our agency choose?',
    'Need an email platform? Choose ours, first month free.',
  ],
  [
    'Looking for a reliable freight forwarder for our imports.',
    'Looking for a reliable freight forwarder? DM us for a quote.',
  ],
  [
    'We need someone to redesign our company website.',
    'We redesign company websites, contact us for a free quote.',
  ],
  ['Who can help our firm with SEO?', 'I can help your firm with SEO, message me.'],
  [
    'What project management software would you recommend for 10 engineers?',
    'Our project management software helps 10,000 engineers every day.',
  ],
  [
    'My company wants to buy an ERP this year.',
    'Does your company want to buy an ERP? Book a demo with my team.',
  ],
  [
    'Recommendations for a payroll service for a restaurant?',
    'Check out our payroll service, built for restaurants.',
  ],
  [
    'We are struggling to find a good IT support company, any suggestions?',
    'If you are struggling to find a good IT support company, visit our site.',
  ],
  [
    'Looking for a chatbot for our web shop.',
    'I just launched a chatbot for web shops, looking for feedback.',
  ],
  [
    'Our team is evaluating log management vendors.',
    'Our product was evaluated by many log management vendors.',
  ],
  ['We need a booking system for our salon.', 'My cousin once said she needed a booking system for a salon.'],
  [
    'Our company is looking for a new CRM this quarter.',
    'He told me his former company had been looking for a CRM back then.',
  ],
  [
    'I am looking for a lawyer to review our supplier contracts.',
    'A friend of mine was looking for a lawyer last year, funny story.',
  ],
  ['We want quotes for a new company network.', 'The article says that firms want quotes for new networks.'],
  [
    'Does anyone know a good translation agency for our manuals?',
    'Someone asked me whether I know a good translation agency, lol.',
  ],
  [
    'We need a vendor for laptop leasing, 40 people.',
    'Analysts say companies with 40 people lease more laptops.',
  ],
  [
    'Hiring a freelance designer for our packaging, budget $2,000.',
    'Freelance designer looking for work, here is my portfolio.',
  ],
  [
    'Looking for a contractor to migrate our database, paid project.',
    'Looking for a job as a database engineer, five years of experience.',
  ],
  [
    'We need an agency to run our Google ads.',
    'Agency job wanted: I ran Google ads for years, open to work.',
  ],
  [
    'Looking to outsource our customer support.',
    'We are hiring a full-time customer support agent, apply with your resume.',
  ],
  [
    'Our startup needs a bookkeeper for a few hours a month.',
    'How do I become a bookkeeper? I am a student.',
  ],
  [
    'We are looking for a penetration testing company.',
    'I have an interview at a penetration testing company tomorrow.',
  ],
  [
    'Need a consultant to set up our data warehouse.',
    'Salary question: consultant for data warehouses, two job offers.',
  ],
  [
    'Looking for a recruiter to fill sales roles at our firm.',
    'Recruiters keep ghosting me after every interview.',
  ],
  [
    'We need new laptops for the office, which supplier is best?',
    'Which laptop should I buy for gaming at home?',
  ],
  [
    'Looking for a caterer for our company event, 80 guests.',
    'Looking for a good restaurant for date night.',
  ],
  [
    'Can anyone recommend an insurance broker for our roofing business?',
    'Can anyone recommend a dentist for my kids?',
  ],
  [
    'Our firm needs office space in Leeds, any agents you would recommend?',
    'I need a flat in Leeds, two bedrooms, for me and my cat.',
  ],
  ['Need a photographer for our product catalogue.', 'Need a photographer for my wedding in June.'],
  ['We are looking for a fleet card provider for 15 vans.', 'I am looking for a used car for my daughter.'],
  [
    'What accounting tool is best for a small consultancy?',
    'What is the best savings account for my vacation money?',
  ],
  ['Looking for a courier for our online shop.', 'Looking for a gym near my house.'],
];

const encoder = createEncoder();
afterAll(() => encoder.close());
const compiled = compileOne(defaultProfile('icp_1', 'ten_1', 0));
const NO_FACTS = { title: '', companyName: '', industry: '', headcount: '', location: '' };

async function scoreOf(text: string, given: Encoder | null): Promise<number> {
  const words = readPost({ ...NO_FACTS, text }, given !== null);
  const reading = await addMeaning(words, [{ compiled, hits: [] }], { encoder: given });
  return scorePost(reading, compiled, []).score;
}

/** Pairs that are not distinguished: the post that asks must be warm, the other one cold. */
async function confused(given: Encoder | null): Promise<string[]> {
  const wrong: string[] = [];
  for (const [asks, not] of PAIRS) {
    const [yes, no] = [await scoreOf(asks, given), await scoreOf(not, given)];
    if (yes < 40 || no >= 40) wrong.push(`${yes} ${asks} / ${no} ${not}`);
  }
  return wrong;
}

test('the encoder and the words distinguish at least 38 of forty pairs of similar posts', async () => {
  expect(PAIRS).toHaveLength(40);
  const wrong = await confused(encoder);
  expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(2);
}, 30_000);

test('words alone distinguish at least 38', async () => {
  const wrong = await confused(null);
  expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(2);
});

test.each([
  ['with the encoder', encoder],
  ['by words alone', null],
])(
  '%s, who asks scores higher than who does not in at least 39 of the forty',
  async (_how, given) => {
    let right = 0;
    for (const [asks, not] of PAIRS) {
      if ((await scoreOf(asks, given)) > (await scoreOf(not, given))) right++;
    }
    expect(right).toBeGreaterThanOrEqual(39);
  },
  30_000,
);
