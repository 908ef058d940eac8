import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Example } from './data.ts';

/**
 * Labelled posts are rarely a single plain sentence, so dozens of the plainest forms are written here: sentences of buyers,
 * and similar ones of non-buyers. The tests use other pairs.
 */
const THINGS = [
  'CRM',
  'payroll provider',
  'accounting tool',
  'web designer',
  'bookkeeping service',
  'monitoring platform',
  'booking system',
  'shipping partner',
  'tax adviser',
  'delivery van',
  'packaging supplier',
  'security firm',
  'label printer',
  'help desk',
  'roofing contractor',
  'learning platform',
];
/** The number of them that each sentence is combined with, each sentence with the next ones. */
const THINGS_A_SENTENCE = 4;
const ASKS = [
  'Can anyone recommend a good THING for a small company?',
  'We are looking for a new THING, any recommendations?',
  'Our team needs a THING by the end of the quarter.',
  'Which THING do you recommend for a business with 20 employees?',
  "I'm looking to hire a THING for my business. Budget is around 3k.",
  'Looking for a THING for our company, what should we choose?',
  'We have outgrown our THING and need a replacement. Suggestions?',
  'What is the best THING for a growing agency?',
  'We are comparing two options for a THING before we sign next month.',
  'Is there an affordable alternative to our current THING? The price has doubled.',
  'We are looking for a THING company.',
  'Looking for a THING to help out at our firm.',
  'Which THING would you recommend for 10 people?',
  'Anyone know a good THING for our office?',
  'We need a THING that understands our trade, a few hours a week.',
  'We have money for a THING this quarter, please send names.',
  'We would like offers for a THING.',
  'Need a price for a THING for our workshop.',
  'Thinking of switching to another THING, which one is reliable?',
  'Who do you use as a THING for your business?',
  'Our charity is choosing a THING, budget about 2,000 a year.',
  'We want to hand our work over to a THING, who is good?',
  'Our THING keeps letting us down, what should we move to?',
  'Time to replace our THING, tips welcome.',
  'I run a small cafe and need a THING.',
  'Help choosing a THING for a team of six, please.',
  'Our contract for a THING ends in June and we are open to other options.',
  'Quote needed: THING for our new office.',
  'Anybody here happy with their THING? Ours is terrible and we are leaving.',
  'Searching for a THING; it must work in two countries.',
  'We are leaving our THING, what did you move to?',
  'Which THING would you trust with a company like ours?',
  'Our office is in the market for a THING.',
  'I was told to find a THING for our company until summer.',
  'In search of a THING who knows small manufacturers.',
  'RFP: THING for 120 people, answers due on 3 May.',
  'Who do you trust as a THING? Ours retires this year.',
  'Our THING is closing down, so we need another one.',
  'Help us choose a THING: these two or something else?',
  'We have approval to buy a THING this quarter and welcome demos.',
  'Anyone able to set up a THING for us? We would pay.',
  'Shopping around for a THING, ours went up 30 percent.',
  'Time to look elsewhere for a THING, where do you all go?',
  'Do you know a THING that takes on small firms?',
  'Desperately seeking a THING for our shop.',
  'How much should we expect to pay for a THING? We need one by autumn.',
  'Moving away from our old THING, what should we look at?',
  'Looking at vendors for a THING, any experiences?',
  'We lost our THING last week and have to find another one soon.',
  'Ideas for a THING? Team of eight, about 500 a month.',
  'Please share the name of a THING that you were happy with.',
  'Does a THING exist that works for a franchise?',
  'My boss asked me to pick a THING by Friday.',
  'Considering a THING for our two offices, what does it cost?',
];
const DOES_NOT = [
  'We are not looking for a new THING, ours works well.',
  'No need for a THING here, we built our own.',
  'I no longer need a THING for my shop.',
  "We don't need another THING right now.",
  'Nobody here needs a THING any more, the project is over.',
  'We stopped looking for a THING.',
  'Our THING serves thousands of companies every day.',
  'Our product, a THING, was chosen by many teams this year.',
  'I applied to a company that makes a THING and wait for an answer.',
  'Are you looking for a THING? We can help, book a call.',
  'If you need a THING, our agency is here for you.',
  'We offer the best THING for small companies. Sign up for a free trial.',
  'My old boss was looking for a THING years ago, it was a funny time.',
  'A customer told me that they needed a THING and then went quiet.',
  'I am looking for a job at a THING, here is my resume.',
  'We are hiring a full-time engineer to work on our THING. Apply now.',
  'We just switched to a new THING last month and are happy with it.',
  'I built a THING over the weekend, what do you think?',
  'How does a THING work? I am a student and write my thesis about it.',
  'Why every company needs a THING: five lessons.',
  'Show HN: we built a THING. Looking for feedback, pricing from $9 per month.',
  'Thanks for all the advice, we finally switched to another THING and are so happy with it.',
  'Need a THING? Try ours, first month free.',
  'Looking for a plumber for my kitchen at home, the THING can wait.',
  'We have no plans to get a THING.',
  'There is no money for a THING this year.',
  'It was not worth it to change our THING.',
  'Stop telling me to get a THING.',
  'We never asked for a THING.',
  'We sell every kind of THING, ask for a price today.',
  'Selling my used THING, make me an offer.',
  'Experienced THING available, message me for rates.',
  'Tired of your THING? Talk to us.',
  'Questionnaire: how do small firms choose a THING?',
  'What every founder should know about a THING.',
  'A big THING announces new features for small firms.',
  'The newspaper says that firms need a THING these days.',
  'My neighbour said she wanted a THING, years ago.',
  'Somebody told me that their firm was looking for a THING.',
  'We changed our THING in spring and never looked back.',
  'I have a job offer from a THING, should I take it?',
  'Any openings at a THING? I finished my degree.',
  'I need a flat close to the THING where I work.',
  'Can anyone recommend a doctor for my son? It is not about a THING.',
  'We are a THING, who should we talk to for more work?',
  'We found a THING, thanks everyone.',
  'No demos please, we already have a THING.',
  'We have 25 people and run our own THING.',
  'I charge 15k for a THING.',
  'Our contract for a THING was renewed for three years.',
  'We love our THING and would never leave.',
  'How we chose a THING and what we learned.',
  'I compared five kinds of THING for my blog.',
  'As a THING, what do you charge?',
  'What does a THING earn in a year?',
  'What is the best way to become a THING?',
  'Want a THING? Click here for a free quote.',
  'A customer told us that our THING saved them.',
  'My manager was thinking of a new THING, then she left.',
  'You need a THING? That is us.',
  'Glad that we did not change our THING, we stay.',
  'Our THING passed its yearly check.',
  'I start my new job at a THING on Monday.',
  'Anyone able to explain what a THING does? For a school paper.',
  'The THING closed my account, so unfair, just venting.',
  'My neighbour is a THING and tells great stories.',
  'We decided against a THING.',
  'We picked a THING in the end, no more help needed.',
  'I used to need a THING, not any more.',
  'I write about every kind of THING, subscribe to my newsletter.',
  'Ask us anything: we make a THING.',
  'We have room for more clients as a THING, contact us.',
  'I searched for a THING once, never again.',
  'Looking for investors for our THING.',
  'Looking for feedback on our new THING.',
  'Hiring: full-time manager for our THING, benefits and pension.',
  'Is there a union for people who work at a THING?',
  'Our team answers questions about any THING every Tuesday, join the call.',
  'We were asked to bid as a THING and lost.',
  'Need a THING for my wedding in June.',
  'Can anyone recommend a THING for my own house?',
];
/** Warm posts: an event or a pain, without a request. */
const WARM: readonly (readonly [sentence: string, type: string])[] = [
  ['COMPANY raises $12M Series A to double its sales team.', 'funding_event'],
  ['COMPANY closes a $4 million seed round led by Northern Ventures.', 'funding_event'],
  ['COMPANY secures €7 million in growth funding', 'funding_event'],
  ['COMPANY appoints Maria Lind as Chief Technology Officer.', 'job_change'],
  ['COMPANY names Tom Reed its new VP of Operations.', 'job_change'],
  ['COMPANY hires Ana Costa as Head of Marketing', 'job_change'],
  ['Joe Park joins COMPANY as Chief Revenue Officer', 'job_change'],
  ['I am happy to share that I started a new position as Director of IT at COMPANY.', 'job_change'],
  ['I am starting as Head of Finance at COMPANY next week.', 'job_change'],
  ['Excited to share that I have joined COMPANY as VP of Sales!', 'job_change'],
  ['Thrilled to announce that I am joining COMPANY as Chief Marketing Officer.', 'job_change'],
  [
    'Terrible experience with COMPANY: support never answers and they raised our price twice this year.',
    'review',
  ],
  ['One star for COMPANY. Our invoices have been wrong for months and nobody helps us.', 'review'],
  ['Two stars for COMPANY. The app is slow, the renewal went up, and we are thinking of leaving.', 'review'],
  ['COMPANY: one star. Support never answers and we are about to move to somebody else.', 'review'],
  ['Avoid COMPANY. We pay 900 a month and it still loses our invoices.', 'review'],
  ['COMPANY review: 2 of 5, slow, expensive and the app crashes every day', 'review'],
  ['We spend hours every week copying orders by hand and our team is drowning.', ''],
  ['How do other small companies handle their invoices? Ours are a mess.', ''],
];
const COMPANIES = ['Brightwell', 'Tamarack Systems', 'Kestrel Freight', 'Polly & Sons'];

/** The set `written`: one example per sentence. */
export function writtenSentences(): Example[] {
  const fill = (sentences: readonly string[], label: Example['label'], words: readonly string[]) =>
    sentences.flatMap((sentence, nth) =>
      Array.from({ length: THINGS_A_SENTENCE }, (_, i) => words[(nth * 5 + i * 3) % words.length] ?? '').map(
        (word) => ownExample('written', sentence.replace('THING', word), label),
      ),
    );
  const events = WARM.flatMap(([sentence, type]) =>
    COMPANIES.map((name) => ({ ...ownExample('written', sentence.replace('COMPANY', name), 'warm'), type })),
  );
  return [...fill(ASKS, 'hot', THINGS), ...fill(DOES_NOT, 'cold', THINGS), ...events];
}

/**
 * The set `scenes`: one situation described by a buyer, by someone with only the pain, and by two non-buyers, in a hundred trades.
 * `npm run quality:scenes` uses others.
 */
export function writtenScenes(): Example[] {
  const lines = readFileSync(join(import.meta.dirname, 'scenes.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean);
  return lines.map((line) => {
    const { text, label } = JSON.parse(line) as Pick<Example, 'text' | 'label'>;
    return ownExample('scenes', text, label);
  });
}

function ownExample(set: string, text: string, label: Example['label']): Example {
  const facts = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const empty = { platform: '', kind: '', type: '', sure: true, profileId: null, facts };
  return { ...empty, set, id: text, text, label };
}
