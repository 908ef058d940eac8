import {
  CIRCUMSTANCES,
  type Cue,
  createGate,
  HEARSAY,
  negatedAt,
  OBJECTS,
  OFFERS_TO_BUY,
  QUESTIONS,
  SPEAKERS,
  subjectAt,
  WISHES,
} from './cues.ts';
import { cutSentences, type Outline, type Sentence } from './sentences.ts';

/** A feature of a post: its value, and its first occurrence (UTF-16 units; null if it has none). */
export interface Feature {
  value: number;
  place: { start: number; end: number } | null;
}

/** The features of a post by name; absent features are omitted. */
export type Features = Map<string, Feature>;

/** A parsed post: its sentences, which of them ask, and its features. */
export interface PostFeatures {
  outline: Outline;
  /** One entry per sentence. */
  asks: boolean[];
  features: Features;
}

/** Whether a sentence asks, regardless of the object. */
interface SentenceMood {
  /** Said by the author's side or without a subject, and not negated. */
  wishes: boolean;
  questions: boolean;
}

/**
 * Extracts the features of a post that a person could point to. Pure, linear in the text, and the same for
 * every profile.
 */
export function readFeatures(text: string): PostFeatures {
  const outline = cutSentences(text);
  const features: Features = new Map();
  const asks = outline.sentences.map((sentence, index) =>
    readSentence(features, sentence, isRhetorical(sentence, outline.sentences[index + 1])),
  );
  shapeOf(features, outline, asks.filter(Boolean).length);
  combine(features);
  const settling = {
    settled_after: settledAfter(outline.sentences, asks),
    pitch: pitchIn(outline.sentences),
  };
  for (const [name, place] of Object.entries(settling))
    if (place !== null) features.set(name, { value: 1, place });
  return { outline, asks, features };
}

/** Features of requests for a product or a supplier, in any form. */
const ASKS_FOR_A_THING = [
  'wish_for.tool',
  'wish_for.supplier',
  'question_for.tool',
  'question_for.supplier',
  'alternative',
  'alternative.title',
  'hire_supplier',
  'tender',
];
/** Features that make such a request a business purchase, or something else entirely. */
const BESIDE_IT = [
  ...[
    'business',
    'current_tool',
    'price_pain',
    'pain',
    'team_size',
    'money',
    'budget',
    'decides',
    'requirements',
    'date',
  ],
  ...[
    'maker',
    'seller',
    'survey',
    'student',
    'how_to',
    'programming',
    'already_bought',
    'full_time_job',
    'private_money',
  ],
  ...[
    'job_seeker',
    'job_ad',
    'feedback_wanted',
    'story',
    'news',
    'legal',
    'only_title',
    'links',
    'opinion',
    'hearsay',
  ],
];

const COMPLAINTS = ['bad_review', 'outrage', 'price_pain', 'pain'];
/** Features that make a title a headline, if nothing is asked. */
const EVENTS = ['round', 'funding', 'appointment', 'bad_review', 'review_form'];

/** Adds combined features: a linear model cannot express that features mean more together than separately. */
function combine(features: Features): void {
  for (const name of features.has('asking_sentences') ? [] : EVENTS) {
    const title = features.get(`${name}.title`);
    if (title !== undefined) features.set(`${name}.headline`, { value: 1, place: title.place });
  }
  const complaint = COMPLAINTS.map((name) => features.get(name)).find((found) => found !== undefined);
  const vendor = features.get('vendor');
  if (vendor !== undefined && complaint !== undefined) {
    features.set('vendor_and_complaint', { value: 1, place: complaint.place });
    const inTitle = features.get('vendor.title') ?? features.get('outrage.title');
    if (inTitle !== undefined) features.set('vendor_and_complaint.title', { value: 1, place: inTitle.place });
  }
  const thing = ASKS_FOR_A_THING.map((name) => features.get(name)).find((found) => found !== undefined);
  if (thing === undefined) return;
  features.set('thing', { value: 1, place: thing.place });
  for (const name of BESIDE_IT) {
    const beside = features.get(name);
    if (beside !== undefined) features.set(`thing_and.${name}`, { value: 1, place: beside.place });
  }
  const home =
    features.get('home.told') ?? features.get('wish_for.home') ?? features.get('question_for.home');
  if (home !== undefined) features.set('thing_and.home', { value: 1, place: home.place });
}

/** Selects the cues that may occur in a sentence. */
const gate = createGate([WISHES, QUESTIONS, OFFERS_TO_BUY, SPEAKERS, HEARSAY, CIRCUMSTANCES, OBJECTS].flat());

function readSentence(features: Features, sentence: Sentence, rhetorical: boolean): boolean {
  const open = gate(sentence.text);
  const settled = settledAt(sentence.text, open);
  const mood: SentenceMood = {
    wishes: readWishes(features, sentence, { open, rhetorical, settled }),
    questions: readQuestions(features, sentence, { open, settled }),
  };
  readPlain(features, sentence, open, OFFERS_TO_BUY, negatedAt);
  readPlain(features, sentence, open, SPEAKERS);
  readPlain(features, sentence, open, HEARSAY);
  readPlain(features, sentence, open, CIRCUMSTANCES);
  const asks = mood.wishes || mood.questions;
  for (const object of OBJECTS) {
    const found = open.has(object) ? object.pattern.exec(sentence.text) : null;
    if (found === null) continue;
    const place = placeOf(sentence, found);
    if (sentence.isTitle) add(features, `${object.name}.title`, place);
    if (mood.wishes) add(features, `wish_for.${object.name}`, place);
    if (mood.questions) add(features, `question_for.${object.name}`, place);
    if (!asks) add(features, `${object.name}.told`, place);
  }
  return asks;
}

const ALREADY_BOUGHT = SPEAKERS.find(({ name }) => name === 'already_bought');

/** The offset from which a sentence is about something already bought or found; null if it is not. */
function settledAt(sentence: string, open: ReadonlySet<Cue>): number | null {
  if (ALREADY_BOUGHT === undefined || !open.has(ALREADY_BOUGHT)) return null;
  const found = ALREADY_BOUGHT.pattern.exec(sentence);
  return found === null || negatedAt(sentence, found.index) ? null : found.index;
}

function readWishes(
  features: Features,
  sentence: Sentence,
  { open, rhetorical, settled }: { open: ReadonlySet<Cue>; rhetorical: boolean; settled: number | null },
): boolean {
  let wishes = false;
  for (const cue of WISHES) {
    const found = open.has(cue) ? cue.pattern.exec(sentence.text) : null;
    if (found === null) continue;
    const place = placeOf(sentence, found);
    const said = subjectAt(sentence.text, found.index);
    const subject = rhetorical && said === 'implied' ? 'reader' : said;
    const denied = negatedAt(sentence.text, found.index);
    const done = settled !== null && settled <= found.index;
    add(features, `${cue.name}.${denied ? 'denied' : done ? 'done' : subject}`, place);
    if (denied || done || subject === 'other' || subject === 'reader') continue;
    wishes = true;
    if (sentence.isTitle) add(features, `${cue.name}.title`, place);
  }
  return wishes;
}

function readQuestions(
  features: Features,
  sentence: Sentence,
  { open, settled }: { open: ReadonlySet<Cue>; settled: number | null },
): boolean {
  let asks = false;
  for (const cue of QUESTIONS) {
    const found = open.has(cue) ? cue.pattern.exec(sentence.text) : null;
    if (found === null) continue;
    if (cue.name === 'best' && !sentence.isTitle) continue;
    const place = placeOf(sentence, found);
    if (negatedAt(sentence.text, found.index)) {
      add(features, 'question.denied', place);
      continue;
    }
    if (settled !== null && settled <= found.index && !sentence.isQuestion) {
      add(features, 'question.done', place);
      continue;
    }
    asks = true;
    add(features, sentence.isQuestion || sentence.isTitle ? cue.name : `${cue.name}.told`, place);
    if (sentence.isTitle) add(features, `${cue.name}.title`, place);
  }
  return asks;
}

/** `isDenied`: for cues that mean the opposite when negated. */
function readPlain(
  features: Features,
  sentence: Sentence,
  open: ReadonlySet<Cue>,
  cues: readonly Cue[],
  isDenied: (sentence: string, at: number) => boolean = () => false,
): void {
  for (const cue of cues) {
    const found = open.has(cue) ? cue.pattern.exec(sentence.text) : null;
    if (found === null) continue;
    const place = placeOf(sentence, found);
    if (isDenied(sentence.text, found.index)) {
      add(features, `${cue.name}.denied`, place);
      continue;
    }
    add(features, cue.name, place);
    if (sentence.isTitle) add(features, `${cue.name}.title`, place);
  }
}

/** Features of the form of the whole post. */
function shapeOf(features: Features, { sentences, links, words, onlyTitle }: Outline, asking: number): void {
  const set = (name: string, value: number) => {
    if (value !== 0) features.set(name, { value, place: null });
  };
  const questions = sentences.filter(({ isQuestion }) => isQuestion).length;
  const text = sentences.map((sentence) => sentence.text).join(' ');
  const share = (pattern: RegExp) => Math.min(1, ((text.match(pattern)?.length ?? 0) / (words + 10)) * 8);
  set('asking_sentences', Math.min(1, Math.log1p(asking) / 2));
  set('asking_share', asking / (sentences.length + 2));
  set('question_marks', Math.min(1, Math.log1p(questions) / 2));
  set('links', Math.min(1, Math.log1p(links) / 2));
  set('only_title', onlyTitle ? 1 : 0);
  set('only_title_asks', onlyTitle && asking > 0 ? 1 : 0);
  set('ask_hn', /^\W*ask hn\b/.test(text) ? 1 : 0);
  set(
    'hn_thing',
    /^\W*ask hn\s*:\s*(?!how|why|what|who|where|when|is|are|do|does|should|can|would|did|has|have|could)/.test(
      text,
    )
      ? 1
      : 0,
  );
  set('title_question', sentences[0]?.isTitle && sentences[0].isQuestion ? 1 : 0);
  set('ends_with_question', sentences.length > 1 && sentences.at(-1)?.isQuestion ? 1 : 0);
  set('long', Math.max(0, Math.min(1.5, (Math.log(words + 1) - 4) / 2)));
  set('short', Math.max(0, Math.min(1.5, (4 - Math.log(words + 1)) / 2)));
  const told = asking > 0 ? '' : '.told';
  set(`first_person${told}`, share(/\b(?:i|i'm|i've|my|me)\b/g));
  set(`first_plural${told}`, share(/\b(?:we|we're|we've|our|us)\b/g));
  set(`second_person${told}`, share(/\b(?:you|your|you're)\b/g));
}

function placeOf(sentence: Sentence, found: RegExpExecArray): { start: number; end: number } {
  const lead = found[0].length - found[0].trimStart().length;
  const start = sentence.start + found.index + lead;
  return { start, end: start + found[0].trim().length };
}

/** Keeps the first occurrence; each repetition adds a little weight. */
function add(features: Features, name: string, place: { start: number; end: number }): void {
  const known = features.get(name);
  if (known === undefined) features.set(name, { value: 1, place });
  else if (known.value < 1.5) known.value += 0.25;
}

const WISH = /^\W*(?:looking|searching|seeking|need|want|struggling|tired|thinking)\b/;
const ANSWER =
  /\b(?:dm|contact|message|visit|check|book|call us|choose ours|we (?:can|help|offer|do|build|are)|our (?:team|agency|app|tool|service|product)|ours|i (?:can|offer)|sign up|look no further|try)\b/;

/** "Looking for a CRM? We can help": a wish attributed to the reader. */
function isRhetorical(sentence: Sentence, next: Sentence | undefined): boolean {
  return sentence.isQuestion && next !== undefined && WISH.test(sentence.text) && ANSWER.test(next.text);
}

const HOOK =
  /^\W*(?:are you |do you |does your \w+ |is your \w+ |still )?(?:looking (?:for|to)|searching for|seeking|in need of|in search of|need|want|struggling (?:with|to)|tired of|thinking (?:of|about)|in the market for)\b/;
const OFFER =
  /^\W*(?:(?:just |simply |then )?(?:dm|contact|message|call|email|text|visit|talk to|reach out to|get in touch with) (?:me|us|our)|(?:then )?(?:check (?:us|it|out)|choose (?:us|ours)|try (?:us|ours|our)|book (?:a|your)|get in touch|reach out|sign up|look no further|click|join us|that's us)\b|(?:we|i) (?:can (?:help|do|build|offer|provide|take|get)|help|offer|build|make|provide|sell|speciali[sz]e)\b|we(?:'re| are) an? |(?:at \w+,? )?our (?:\w+ )?(?:team|agency|app|tool|software|service|product|company|firm|studio|platform|experts|specialists|crew) (?:can|helps?|offers?|does|do|builds?|provides?|will|makes?|delivers?|handles?|saves?|gives?|takes|is (?:here|free|built|made|the))\b)/;

/**
 * Where a seller answers a wish that they attribute to the reader: "Are you looking for a CRM? Our agency
 * helps." Null if there is none. Stricter than {@link isRhetorical}, because it identifies the author as a
 * seller. Pure, linear in the text.
 */
function pitchIn(sentences: readonly Sentence[]): { start: number; end: number } | null {
  for (const [index, sentence] of sentences.entries()) {
    const next = sentences[index + 1];
    if (!sentence.isQuestion || next === undefined || !HOOK.test(sentence.text)) continue;
    const found = OFFER.exec(next.text);
    if (found === null) continue;
    const lead = found[0].search(/\w/);
    return {
      start: next.start + found.index + lead,
      end: next.start + found.index + found[0].trimEnd().length,
    };
  }
  return null;
}

const CHOSEN =
  /\b(?:decision made|(?:went|gone) (?:ahead )?with|decided (?:to (?:move forward|go|stick) with|on)|settled on|(?:ended|wound) up (?:going with|choosing|buying|using|picking|switching|signing|hiring|moving))\b/;
/** Phrases that close a thread only after "Edit:". */
const CLOSED =
  /\b(?:solved|resolved|sorted(?: out)?|all set|fixed|never ?mind|found (?:one|it|someone|somebody|what|a \w+|an \w+)|no longer (?:needed|need|looking)|we(?:'ve| have)? (?:picked|chose|chosen|hired|bought|signed))\b/;
/** At the start of a sentence, or after another one in a title, where full stops do not end sentences. */
const ADDED = /(?:^|[.!?)]\s)\W*(?:\w+ )?(?:edit(?:ed)?|updated?|eta)\b/;
/** Authors report what they chose in the last sentences, or after "Edit:". */
const LAST = 3;

/**
 * Where the author reports a choice after asking: "Which host is good? ... Edit: went with X". Null if there
 * is none, or if nothing was asked. Pure, linear in the text.
 */
function settledAfter(
  sentences: readonly Sentence[],
  asks: readonly boolean[],
): { start: number; end: number } | null {
  const last = asks.lastIndexOf(true);
  if (last === -1) return null;
  let isAdded = false;
  for (const [index, { text, start, isQuestion }] of sentences.entries()) {
    if (index < last) continue;
    const added = ADDED.exec(text);
    isAdded ||= added !== null;
    if (index === last && (added === null || added.index === 0)) continue;
    if (!isAdded && index < sentences.length - LAST) continue;
    const from = added?.index ?? 0;
    const said = text.slice(from);
    const found = CHOSEN.exec(said) ?? (isAdded ? CLOSED.exec(said) : null);
    if (found === null || isQuestion || negatedAt(said, found.index)) continue;
    const at = start + from + found.index;
    return { start: at, end: at + found[0].length };
  }
  return null;
}
