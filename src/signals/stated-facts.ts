import type { Explanation, Signal } from '../model/signal.ts';
import { negatedAt, QUESTIONS, subjectAt } from './reading/cues.ts';
import { cutSentences, type Sentence } from './reading/sentences.ts';

const MAX_OBJECT_WORDS = 9;
/** Long enough for these words. A sentence of five hundred requests without an object took 25 ms, when each was followed to its end. */
const MAX_OBJECT_UNITS = 400;

/** The parts of a signal that its explanation in words is derived from. The text may be truncated. */
export interface SignalToExplain {
  text: string;
  type: Signal['signal_type'];
  explanation: Pick<Explanation, 'score' | 'thresholds' | 'factors' | 'negatives'>;
  company?: Pick<Signal['company'], 'name'>;
  prospect?: Pick<Signal['prospect'], 'name' | 'title'>;
}

/** A statement of the post. */
export interface StatedFact {
  /** As part of a sentence: "leaving Freshdesk". */
  clause: string;
  sentence: Sentence | null;
  /** Whether a sentence can consist of it alone. */
  isMain: boolean;
  kind: keyof typeof SAYS;
}

/** Parts of the score that a fact already covers. */
export const SAYS = {
  event: ['trigger'],
  moving: ['trigger', 'intent', 'urgency'],
  asking: ['intent', 'meaning', 'urgency'],
  pain: ['pain'],
  budget: ['budget'],
  circumstances: ['circumstances'],
  fit: ['fit'],
} as const;

function main(kind: StatedFact['kind'], clause: string, sentence: Sentence): StatedFact {
  return { clause, sentence, isMain: true, kind };
}

function beside(kind: StatedFact['kind'], clause: string, sentence: Sentence | null): StatedFact {
  return { clause, sentence, isMain: false, kind };
}

/** A post, parsed for its facts. */
export interface ParsedPost {
  text: string;
  sentences: Sentence[];
  signal: SignalToExplain;
}

/**
 * Matches a name: up to three capitalised words, except those that only start a sentence or are part of a title. Not more, as every place
 * where a name may follow is tried: with 625 of them, each reading all the words after it, a post took 200 ms.
 */
const NAME = /(?:[A-Z][\w&'’-]*(?:\.[a-z]{2,3}\b)?|\d+[a-z]+[A-Z]\w*)(?: (?:[A-Z][\w&'’-]*|\d{3})){0,2}/y;
const NO_NAME = new Set(
  (
    "I I’m I’ve I'm I've We We’re The A An My Our It Its It’s This That These Any Anyone Best What Which How Who Why Is Are Do " +
    'Does Did Can Could Would Should Need Needs Looking Help For To And Or In On With Of As At From By Your You Me Us He She They ' +
    'But So If When Where Not No Yes Please Thanks Recommendations Recommendation Alternatives Alternative'
  ).split(' '),
);
/** Words for kinds of products, which are only part of a name after another word: "CAST AI". */
const KINDS = new Set(
  'Software Tool Tools Some All New Good Better CRM ERP API SaaS AI POS USA UK US EU URGENT'.split(' '),
);

/** The name that starts at `at`; null if there is none. */
export function nameAt(text: string, at: number): string | null {
  NAME.lastIndex = at;
  const words: string[] = [];
  for (const word of NAME.exec(text)?.[0].split(' ') ?? []) {
    if (NO_NAME.has(word) || (words.length === 0 && KINDS.has(word))) break;
    words.push(word);
  }
  const name = words.join(' ').replace(/['’]s?$/, '');
  return name.length < 2 ? null : name;
}

/** Names from `at` on, separated by commas, "and", "or" or "vs". */
function namesAt(text: string, at: number): string[] {
  const names: string[] = [];
  let next = at;
  for (let name = nameAt(text, next); name !== null && names.length < 4; name = nameAt(text, next)) {
    names.push(name);
    const rest = text.slice(next + name.length, next + name.length + 16);
    const gap = /^(?:\s*[,/]\s*(?:and |or |vs\.? )?|\s+(?:and|or|vs\.?|versus)\s+)(?:the )?/i.exec(rest);
    if (gap === null) break;
    next += name.length + gap[0].length;
  }
  return names;
}

const MOVE =
  /\b(?<verb>leav(?:e|ing)|switch(?:ing)?|mov(?:e|ing)|migrat(?:e|ing)|transition(?:ing)?|replac(?:e|ing)|ditch(?:ing)?|dropping|cancel(?:l?ing)?|get(?:ting)? (?:off|rid)|outgrown|outgrew|outgrowing)\b(?<between>[^,;:.?!\n]{0,50}?(?:\bfrom|\boff(?: of)?|\brid of))? (?:our |my |the |current |existing |legacy |old ){0,3}/g;
const THOUGHT =
  /\b(?:i|we)(?:'re| are|'m| am) (?:thinking (?:of|about)|considering) (?:leaving|switching|moving on|cancel)/;
const NEEDS_FROM = /^(?:switch|mov|migrat|transition|get)/;

/** "Leaving Freshdesk" */
function leaving(reading: ParsedPost): StatedFact | null {
  for (const sentence of reading.sentences) {
    for (const found of sentence.text.matchAll(MOVE)) {
      const { verb = '', between } = found.groups ?? {};
      if (NEEDS_FROM.test(verb) && between === undefined) continue;
      if (!isOwn(sentence, found.index)) continue;
      const at = sentence.start + found.index + found[0].length;
      const [name] = namesAt(reading.text, at);
      const spreadsheet = /^(?:google )?(?:spreadsheets?|sheets|excel)\b/i.exec(
        reading.text.slice(at, at + 24),
      );
      const left = name ?? (spreadsheet === null ? null : 'spreadsheets');
      if (left === null) continue;
      const verbal = verb.startsWith('replac')
        ? 'replacing'
        : verb.startsWith('outgr')
          ? 'outgrowing'
          : 'leaving';
      return main('moving', `${verbal} ${left}`, sentence);
    }
  }
  const thought = reading.sentences.find(({ text }) => THOUGHT.test(text));
  return thought === undefined ? null : main('moving', 'thinking of switching', thought);
}

const VERSUS = /\b(?:vs\.?|versus)\s/;
const BETWEEN =
  /\b(?:(?:choos\w+|decid\w+|pick\w*|torn|stuck) between|comparing|choosing from|evaluating|considering|demoed|triall?ing|shortlisted) /;

/** "Comparing Kubecost and OpenCost" */
function comparing({ text, sentences }: ParsedPost): StatedFact | null {
  for (const sentence of sentences) {
    const versus = VERSUS.exec(sentence.text);
    const between = BETWEEN.exec(sentence.text);
    const names =
      between !== null && isOwn(sentence, between.index)
        ? namesAt(text, sentence.start + between.index + between[0].length)
        : [];
    if (names.length < 2 && versus !== null) {
      const before = /(?:^|\s)((?:[A-Z][\w&.-]*\s?){1,3}\s*)$/.exec(
        text.slice(Math.max(0, sentence.start + versus.index - 60), sentence.start + versus.index),
      );
      const start = before === null ? -1 : sentence.start + versus.index - (before[1] ?? '').length;
      if (start >= 0) names.splice(0, names.length, ...namesAt(text, start));
    }
    if (names.length >= 2) return main('asking', `comparing ${listed(names)}`, sentence);
  }
  return null;
}

const ALTERNATIVE = /\balternatives? ?(?:\w+ )?(?:to|for|of|like)\s+/;

/** "Looking for an alternative to Klaviyo" */
function alternative({ text, sentences }: ParsedPost): StatedFact | null {
  for (const sentence of sentences) {
    const found = ALTERNATIVE.exec(sentence.text);
    const at = sentence.text.search(/\balternatives?\b/);
    if (at === -1 || !isOwn(sentence, at)) continue;
    const after = found === null ? [] : namesAt(text, sentence.start + found.index + found[0].length);
    const names = after.length > 0 ? after : namesBefore(text, sentence, at);
    if (names.length > 0)
      return main('asking', `looking for an alternative to ${listed(names, 'or')}`, sentence);
  }
  return null;
}

/** "Stripe and PayPal alternatives" */
function namesBefore(text: string, sentence: Sentence, at: number): string[] {
  const before = text.slice(Math.max(sentence.start, sentence.start + at - 60), sentence.start + at);
  const found = /(?:^|\s)((?:[A-Z][\w&.-]*(?: and | or |, | ?\/ ?| )){1,4})$/.exec(before);
  if (found === null) return [];
  const names = namesAt(text, sentence.start + at - (found[1] ?? '').length);
  return names;
}

const THINGS =
  '(?:tools?|software|apps?|platforms?|services?|vendors?|providers?|agenc(?:y|ies)|systems?|solutions?|plugins?|suppliers?)';
const WISHES = [
  /\b(?:looking|searching|shopping|hunting) (?:around )?for (?:some |any )?(?:(?:recommendations?|suggestions?|advice) (?:for|on) )?/g,
  /\bin (?:search|need|the market) (?:of|for) /g,
  /\bneed(?:s|ed|ing)? (?=(?:an?|some|new|better|simple) )/g,
  /\b(?:can|could|would|does|do) (?:any ?one|any ?body|some ?one|somebody|you)(?: guys| all)? (?:please )?(?:recommend|suggest|know of) (?!(?:me|us|anything|something|one|any)\b)/g,
  /\b(?:want|wanting|trying|looking|need) to (?:buy|hire|purchase|source) /g,
];
const RECOMMEND = /\b(?:recommendations?|suggestions?|recs) (?:for|on) /;
const BEST =
  /(?:^\W*(?:ask hn: )?|\b(?:what(?:'s| is| are)?|which(?: is)?) )(?:the |a )?(?:best|good) (?=\w)/;
const OBJECT_END =
  /[.,;:?!()[\]"“”–—|\n]|\s(?:-\s|that\b|which\b|who\b|whose\b|because\b|but\b|so\b|since\b|as\b|while\b|if\b|when\b|where\b|instead\b|before\b|after\b|is\b|are\b|was\b|would\b|should\b|could\b|can\b|will\b|please\b|thanks\b|and (?:i|we|have|am|are|also|wondering|would)\b|what\b|any\b(?= recommend)|in (?:\d|the next|this|next)|by (?:the end|next|q\d|monday|friday|january|december)|this (?:week|month|quarter|year)\b|asap\b)/i;
const NOT_BOUGHT =
  /^(?:(?:some|any|an?|your|honest|genuine|more|general) ){0,2}(?:feedback|thoughts|insights?|opinions?|people|someone|somebody|help(?! ?desk)|it|this|them|testers?|users|customers|clients|investors?|co-?founders?|cofounders?|jobs?|work|new (?:job|role|clients|customers)|ways?|answers?)\b/i;

/** "Looking for a help desk for their support team" */
function wishing({ text, sentences }: ParsedPost): StatedFact | null {
  for (const sentence of sentences) {
    for (const pattern of WISHES) {
      for (const found of sentence.text.matchAll(pattern)) {
        if (!isOwn(sentence, found.index) && !/any|some|you/.test(found[0])) continue;
        const object = objectAt(text, sentence, found.index + found[0].length);
        if (object !== null) return main('asking', `looking for ${object}`, sentence);
      }
    }
    const recommend = RECOMMEND.exec(sentence.text);
    const about =
      recommend === null || negatedAt(sentence.text, recommend.index)
        ? null
        : objectAt(text, sentence, recommend.index + recommend[0].length);
    if (about !== null) return main('asking', `asking for recommendations for ${about}`, sentence);
    const best = BEST.exec(sentence.text);
    const object = best === null ? null : objectAt(text, sentence, best.index + best[0].length);
    if (object !== null && new RegExp(`\\b${THINGS}\\b|\\bcrm\\b`, 'i').test(object))
      return main('asking', `looking for the best ${object}`, sentence);
  }
  return null;
}

/** The object of a request in the author's words, in the third person; null if it is nothing to buy. */
function objectAt(text: string, sentence: Sentence, at: number): string | null {
  const start = sentence.start + at;
  const rest = text
    .slice(start, Math.min(sentence.end, start + MAX_OBJECT_UNITS))
    .replace(/\s+/g, ' ')
    .trimStart();
  const end = OBJECT_END.exec(rest);
  const words = (end === null ? rest : rest.slice(0, end.index)).trim().split(' ');
  const kept = words.slice(0, MAX_OBJECT_WORDS);
  while (/^(?:for|to|of|in|on|with|and|or|a|an|the|my|our|like|from|at)$/i.test(kept.at(-1) ?? ''))
    kept.pop();
  if (/^(?:what|which|how|where|who|why)$/i.test(kept[0] ?? '')) return null;
  const object = kept
    .join(' ')
    .replace(/\b(?:my|our)\b/gi, 'their')
    .replace(/\b(?:i|we)\b/gi, 'they')
    .replace(/\b(?:us|me)\b/g, 'them')
    .replace(/^([A-Z])(?=[a-z]*\b)/, (letter) => letter.toLowerCase());
  return object.length < 3 || NOT_BOUGHT.test(object) ? null : object;
}

const THING = new RegExp(`\\b${THINGS}\\b|\\bcrm\\b|\\bhelp ?desk\\b`);
const BOUGHT = /^(?:tool|software|app|platform|system|crm|help)/;
const OTHERS_USE =
  /\b(?:what|which) [^?.!]{0,50}\b(?:you|people|teams|others|everyone|folks|companies|guys)\b[^?.!]{0,20}\b(?:use|using)\b[^?.!]{0,60}\?/;
/** Maximum distance of the requested product from the words of a question. */
const NEAR_UNITS = 30;

/** "Asking which tool to choose" */
function asking(reading: ParsedPost): StatedFact | null {
  for (const sentence of reading.sentences) {
    if (OTHERS_USE.test(sentence.text)) return main('asking', 'asking what others use', sentence);
    const [cue] = QUESTIONS.flatMap(({ name, pattern }) => {
      const found = pattern.exec(sentence.text);
      return found === null ? [] : [{ name, at: found.index, end: found.index + found[0].length }];
    });
    if (cue === undefined || !(sentence.isQuestion || cue.name === 'recommend')) continue;
    const thing = THING.exec(sentence.text.slice(cue.at, cue.end + NEAR_UNITS))?.[0];
    if (cue.name === 'recommend') return main('asking', 'asking for recommendations', sentence);
    if (thing !== undefined && cue.name === 'which')
      return main(
        'asking',
        `asking which ${singular(thing)} to ${BOUGHT.test(thing) ? 'buy' : 'choose'}`,
        sentence,
      );
    if (thing !== undefined) return main('asking', `asking for ${aThing(thing)}`, sentence);
    if (cue.name === 'alternative') return main('asking', 'asking what to choose', sentence);
  }
  return null;
}

const ROUND = /\b(?:pre-seed|seed|series [a-e]|growth) (?:round|funding|financing|extension)?/;
const AMOUNT = /[$€£₹] ?\d[\d.,]{0,12}(?: ?(?:k|m|mn|b|bn|million|billion))?\b/i;

/** "Acme raised a $12M Series A round", "Jane Doe joined Acme as Head of Support" */
function event({ text, sentences, signal }: ParsedPost): StatedFact | null {
  const trigger = signal.explanation.factors.find(({ key }) => key === 'trigger');
  const company = signal.company?.name || '';
  const quoted = trigger?.evidence[0]?.text.toLowerCase();
  const sentence = (quoted === undefined ? null : sentences.find((one) => one.text.includes(quoted))) ?? null;
  if (signal.type === 'funding_event') {
    const from = sentence ?? sentences[0] ?? null;
    const said = from === null ? '' : sliceOf(text, from);
    const amount = AMOUNT.exec(said)?.[0] ?? '';
    const round = ROUND.exec(said.toLowerCase())?.[0].trim() ?? '';
    const what = [amount, round.replace(/\b(?:series [a-e]|seed)\b/, capitalizedWords)]
      .filter(Boolean)
      .join(' ');
    const who = company || nameAt(said, 0) || '';
    return {
      clause: `${who === '' ? 'raised' : `${who} raised`} ${what || 'new funding'}`,
      sentence: from,
      isMain: true,
      kind: 'event',
    };
  }
  if (signal.type === 'job_change' && trigger !== undefined) {
    const who = signal.prospect?.name || 'someone';
    const role = signal.prospect?.title ? ` as ${signal.prospect.title}` : ' in a new role';
    return {
      clause: `${who} started${company ? ` at ${company}` : ''}${role}`,
      sentence,
      isMain: true,
      kind: 'event',
    };
  }
  if (signal.type === 'review' && trigger !== undefined)
    return { clause: REVIEWED, sentence, isMain: true, kind: 'event' };
  return null;
}

/** "With a budget of $500 a month" */
function budget({ text, sentences, signal }: ParsedPost): StatedFact | null {
  if (!hasPoints(signal, 'budget')) return null;
  for (const sentence of sentences) {
    if (
      !/\bbudget/.test(sentence.text) ||
      /\b(?:out of|over|no) (?:our |my |the )?budget/.test(sentence.text)
    )
      continue;
    const said = sliceOf(text, sentence);
    const amount = /[$€£] ?\d[\d.,]*\d?k?(?: ?(?:\/|per|a) ?(?:month|mo|year|yr|seat|user)\b)?/i.exec(
      said,
    )?.[0];
    if (amount !== undefined)
      return beside('budget', `with a budget of ${amount.replace(/[.,]$/, '')}`, sentence);
    if (/\bapproved\b/.test(sentence.text)) return beside('budget', 'with an approved budget', sentence);
  }
  return null;
}

const COMPLAINTS: [pattern: RegExp, about: string][] = [
  [
    /\b(?:expensive|overpriced|pricey|price (?:hike|increase)|(?:raised|raising|doubled) (?:our|their|the|my) prices?|costs? (?:us )?too much|insane(?:ly)? (?:price|cost|expensive))/,
    'the price',
  ],
  [
    /\bsupport (?:never|doesn't|does not|is|was|has been|takes)|\b(?:terrible|awful|bad|no) (?:customer )?support\b/,
    'its support',
  ],
  [
    /\b(?:outages?|downtime|crash(?:es|ing)?|buggy|unreliable|keeps? (?:failing|breaking))\b/,
    'its reliability',
  ],
  [
    /\b(?:by hand|manually|manual (?:work|process)|out of control|drowning|takes (?:us )?hours)\b/,
    'manual work',
  ],
];

/** "Unhappy with the price" */
function complaint({ sentences, signal }: ParsedPost): StatedFact | null {
  if (!hasPoints(signal, 'pain') && !hasPoints(signal, 'trigger')) return null;
  for (const [pattern, about] of COMPLAINTS) {
    // Prices are raised by vendors, but the tool that breaks is the author's own.
    const maySayOf = about !== 'its reliability';
    const sentence = sentences.find(
      (one) => pattern.test(one.text) && isOwn(one, one.text.search(pattern), maySayOf),
    );
    if (sentence !== undefined) return main('pain', `unhappy with ${about}`, sentence);
  }
  return null;
}

const USING =
  /\b(?:(?:i|we)(?:'ve| have|'re| are|'m| am)? (?:been |currently )?(?:use|using|on|run|running)|currently (?:use|using|on)) /;

/** "Using Gorgias today" */
function currentTool({ text, sentences }: ParsedPost): StatedFact | null {
  for (const sentence of sentences) {
    const found = USING.exec(sentence.text);
    if (found === null || negatedAt(sentence.text, found.index + found[0].length)) continue;
    const names = namesAt(text, sentence.start + found.index + found[0].length);
    if (names.length > 0)
      return beside('circumstances', `using ${listed(names.slice(0, 2))} today`, sentence);
  }
  return null;
}

/** "Fits your audience (Head of Support, 11-50)" */
function fit({ signal }: ParsedPost): StatedFact | null {
  const found = signal.explanation.factors.find(({ key, points }) => key === 'fit' && points > 0);
  const facts = (found?.evidence ?? []).map(({ text }) => text).slice(0, 3);
  if (facts.length === 0) return null;
  return beside('fit', `fits your audience (${facts.join(', ')})`, null);
}

/** In the order in which a person would mention them. */
const READERS: ((reading: ParsedPost) => StatedFact | null)[] = [
  event,
  leaving,
  (reading) => comparing(reading) ?? alternative(reading),
  (reading) => wishing(reading) ?? asking(reading),
  complaint,
  budget,
  currentTool,
  fit,
];

/** The facts that a post states about its author's purchase, strongest first. */
export function statedFacts(reading: ParsedPost): StatedFact[] {
  const facts = READERS.flatMap((read) => read(reading) ?? []);
  // Leaving a product is a stronger statement than a complaint, and what looks like a review may not be one.
  const isLeaving = facts.some(({ kind }) => kind === 'moving');
  return isLeaving ? facts.filter(({ clause }) => clause !== REVIEWED) : facts;
}

const REVIEWED = 'reviewing a tool that let them down';

const MONTHS = '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
const WHEN = new RegExp(
  '\\b(?:(?:this|next) (?:week|month|quarter|year|spring|summer|autumn|fall|winter)|' +
    `(?:by|before) (?:the )?(?:end of (?:the |this |next )?(?:week|month|quarter|year|${MONTHS})|(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|${MONTHS}|q[1-4]|tomorrow|spring|summer|autumn|fall|winter|christmas|black friday|(?:our |the )?renewal)|` +
    'within (?:the next )?(?:\\d+|two|three|four|six|a few|a couple of) (?:days|weeks|months)|asap)\\b',
);
const DECIDES =
  /\b(?:decide|choose|pick|need|start|sign|switch|replace|buy|move|migrate|leav|renew|go live|launch|in place)/;

/** When the purchase is planned, if a relevant sentence says so. */
export function whenOf({ text, sentences }: ParsedPost, facts: readonly StatedFact[]): string {
  const about = facts.flatMap(({ sentence }) => sentence ?? []);
  const others = sentences.filter((one) => !about.includes(one) && DECIDES.test(one.text));
  for (const sentence of [...about, ...others]) {
    const found = WHEN.exec(sentence.text);
    if (found === null || /\b(?:last|since|had|got)\b[^,]{0,20}$/.test(sentence.text.slice(0, found.index)))
      continue;
    const at = sentence.start + found.index;
    return ` ${text
      .slice(at, at + found[0].length)
      .replace(/\bour\b/i, 'their')
      .replace(/^[A-Z](?=[a-z])/, lower)}`;
  }
  return '';
}

/** The sentences of a post. A single line is not a title, and is split into sentences. */
export function sentencesOf(text: string): Sentence[] {
  if (text.trim().includes('\n')) return cutSentences(text).sentences;
  const title = '-\n';
  return cutSentences(title + text).sentences.map(({ start, end, ...sentence }) => ({
    ...sentence,
    start: start - title.length,
    end: end - title.length,
  }));
}

export function asks({ text }: Sentence): boolean {
  return (
    QUESTIONS.some(({ pattern }) => pattern.test(text)) ||
    WISHES.some((pattern) => text.search(pattern) !== -1)
  );
}

function isOwn(sentence: Sentence, at: number, maySayOf = false): boolean {
  if (negatedAt(sentence.text, at)) return false;
  const subject = subjectAt(sentence.text, at);
  return maySayOf ? subject !== 'reader' : subject === 'own' || subject === 'implied';
}

function hasPoints({ explanation }: SignalToExplain, key: string): boolean {
  return explanation.factors.some((factor) => factor.key === key && factor.points > 0);
}

export function sliceOf(text: string, sentence: Sentence | undefined): string {
  return sentence === undefined ? text : text.slice(sentence.start, sentence.end).replace(/\s+/g, ' ').trim();
}

function listed(names: readonly string[], last = 'and'): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`;
}

function singular(thing: string): string {
  return thing.replace(/agencies$/, 'agency').replace(/(?<!s)s$/, '');
}

function aThing(thing: string): string {
  const one = singular(thing);
  if (one === 'software') return one;
  return `${/^[aeiou]/.test(one) ? 'an' : 'a'} ${one}`;
}

function capitalizedWords(text: string): string {
  return text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

function lower(text: string): string {
  return text.toLowerCase();
}
