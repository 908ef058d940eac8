import type { Example } from './data.ts';

/**
 * Labelled posts are seldom one plain sentence, so the plainest forms are written here, by the dozen: what a buyer says,
 * and what sounds like it. The pairs of the tests are others.
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
/** Each sentence is said of so many of them, the next ones each time. */
const THINGS_A_SENTENCE = 6;
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
];
/** What is warm: an event, or a pain, without asking. */
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
  ['COMPANY review: 2 of 5, slow, expensive and the app crashes every day', 'review'],
  ['We spend hours every week copying orders by hand and our team is drowning.', ''],
  ['How do other small companies handle their invoices? Ours are a mess.', ''],
];
const COMPANIES = ['Brightwell', 'Tamarack Systems', 'Kestrel Freight', 'Polly & Sons'];

/** One example a sentence, of the set `written`. */
export function writtenSentences(): Example[] {
  const fill = (sentences: readonly string[], label: Example['label'], words: readonly string[]) =>
    sentences.flatMap((sentence, nth) =>
      Array.from({ length: THINGS_A_SENTENCE }, (_, i) => words[(nth * 5 + i * 3) % words.length] ?? '').map(
        (word) => sentenceExample(sentence.replace('THING', word), label),
      ),
    );
  const events = WARM.flatMap(([sentence, type]) =>
    COMPANIES.map((name) => ({ ...sentenceExample(sentence.replace('COMPANY', name), 'warm'), type })),
  );
  return [...fill(ASKS, 'hot', THINGS), ...fill(DOES_NOT, 'cold', THINGS), ...events];
}

function sentenceExample(text: string, label: Example['label']): Example {
  const facts = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const empty = { platform: '', kind: '', type: '', sure: true, profileId: null, facts };
  return { ...empty, set: 'written', id: text, text, label };
}
