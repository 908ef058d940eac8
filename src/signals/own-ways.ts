import type { SignalType } from '../model/signal.ts';
import { compareTitles, type FitAnswer, type ReadFacts, readTitle } from './fit.ts';
import type { Hit } from './phrases.ts';
import { negatedAt } from './reading/cues.ts';
import type { Feature, PostFeatures } from './reading/features.ts';

/** The parts of a post that these rules use. */
interface EventfulPost {
  text: string;
  type: SignalType;
  content: PostFeatures;
  facts: ReadFacts;
}

/**
 * Smaller rounds are spent before anything is bought; larger ones are no news to sellers to small companies.
 */
const ROUND = { least: 500_000, most: 500_000_000 };
/**
 * Maximum distance of the title from the verb of an appointment, and of the amount from the verb of a round.
 */
const REACH_UNITS = 80;
const UNITS: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9 };
const AMOUNT = /[$€£₹] ?(\d[\d.,]{0,12})\s?(k|m|b)?/i;
const MIGRATION =
  /\b(?:migrat\w+|(?:mov|switch|transition)(?:e|ing)? (?:us |our \w+ )?(?:from|off|away|over to)|replac(?:e|ing|ement of)|consolidat\w+|re-?platform\w*|sunsett?ing|decommission\w*|phas(?:e|ing) out)\b/;

/** Departures, which are not appointments. */
const DEPARTURE =
  /\b(?:step(?:s|ped|ping)? down|resign\w*|leav(?:es|ing)|left|retir\w+|fired|laid off|quits?|quitting|departs?)\b/;
/**
 * Length of a sentence in which a name is searched: {@link NAMED} takes quadratic time for a sentence that is
 * one word.
 */
const MAX_NAMED_UNITS = 600;
/** Matches a named company or person: "at Acme", "Acme appoints", "Ida Brandt joins". */
const NAMED =
  /\b(?:at|of|with|by|joins?|joined|joining) (?!(?:I|A|The|My|Our|This|That)\b)\p{Lu}[\p{L}\p{N}&.-]+|^\W*\p{Lu}[\p{L}\p{N}&.'-]+(?: \p{Lu}[\p{L}\p{N}&.'-]+){0,4},? (?:appoints?|appointed|has|names|named|hires|taps|promotes|welcomes|joins|raises|raised|closes|closed|secures|secured|lands|landed|nets|bags|completes|announces|announced|receives)\b/u;
/** Matches a tool that replaces another, or is compared with it. */
const COMPARING =
  /\b(?:vs|versus|alternatives?|replac(?:e|es|ing|ement|ements)|instead of|switch(?:ing)?|mov(?:e|ing) (?:away|off|on|from|over)|migrat(?:e|ing)|leav(?:e|ing)|compar(?:e|es|ed|ing|ison)|(?:better|cheaper|simpler|other) than|ditch(?:ing)?|get(?:ting)? rid of|or)\b/;
const CHOOSING =
  /\b(?:looking|need|want|trying|consider\w*|evaluat\w+|choos\w+|pick\w*|decid(?:e|ing)|shortlist\w*|recommend\w*|suggest\w*|which|anyone|anybody|thoughts|worth|plan(?:s|ning)? to|thinking (?:of|about))\b|\?/;
/** Features of authors who are not choosing anything. */
const NO_BUYER = [
  'seller',
  'maker',
  'job_ad',
  'job_seeker',
  'already_bought',
  'settled_after',
  'student',
  'survey',
];

/** Phrases by which a customer announces that they are leaving. */
const LEAVING =
  /\b(?:we|i)(?:'re| are|'m| am| want| plan| have| need| will|'ll) [^.!?]{0,30}?\b(?:leave|leaving|switch(?:ing)?|mov(?:e|ing) (?:away|off|on|to)|cancel(?:l?ing)?|replac(?:e|ing)|elsewhere|alternatives?|ditch(?:ing)?|drop(?:ping)?)\b/;
const STAYS = /\b(?:not|never|no)\b|n't\b/;

/** A reason why a post may indicate a purchase without asking for anything, with its minimum class. */
export interface OwnWay {
  /** Null if the reason is a known fact rather than words of the post. */
  place: Feature['place'];
  atLeast: 'hot' | 'warm';
}

interface Circumstances {
  titles: readonly string[];
  hits: readonly Hit[];
  answers: readonly FitAnswer[];
}

/**
 * Finds a statement that indicates a purchase without asking for anything: an announced round or appointment
 * that is on topic or at a company that fits; a competitor that is badly reviewed, left, or compared with
 * others; a job advert that mentions a migration from or to a product that the profile names. Null if there
 * is none.
 */
export function ownWayOf(post: EventfulPost, about: Circumstances): OwnWay | null {
  const { hits } = about;
  if (isEvent(post)) return newsOf(post, about);
  const certain =
    (post.type === 'review' ? badReviewOf(post, hits) : null) ??
    leavingOf(post, hits) ??
    (post.type === 'review' ? null : migrationOf(post, hits));
  if (certain !== null) return { ...certain, atLeast: 'hot' };
  const compared = comparedOf(post, hits);
  return compared && { ...compared, atLeast: 'warm' };
}

/** News counts if the named company or person is on topic or fits. It is hot only if the company is both. */
function newsOf(post: EventfulPost, about: Circumstances): OwnWay | null {
  const isOnTopic = about.hits.some(({ kind }) => kind !== 'excluded');
  const fits = isKnownToFit(about.answers);
  // A round concerns a company; an appointment also concerns a person, whose title may be known.
  const mayFit = post.type === 'job_change' && about.answers.some(({ verdict }) => verdict === 'fits');
  if (!isOnTopic && !fits && !mayFit) return null;
  const found = post.type === 'funding_event' ? roundOf(post) : appointmentOf(post, about);
  if (found === null || !isAnnounced(post, found.place)) return null;
  return { ...found, atLeast: isOnTopic && fits ? 'hot' : 'warm' };
}

/** Whether it is a report that names the person: neither a question nor a departure. */
function isAnnounced({ content, facts, text }: EventfulPost, place: Feature['place']): boolean {
  if (content.features.has('asking_sentences')) return false;
  if (place === null) return true;
  const { sentences } = content.outline;
  const own = sentences.find(({ start, end }) => place.start >= start && place.start < end);
  if (own === undefined || own.isQuestion || DEPARTURE.test(own.text)) return false;
  return (
    facts.companyName !== '' ||
    facts.isKnown ||
    NAMED.test(text.slice(own.start, Math.min(own.end, own.start + MAX_NAMED_UNITS)))
  );
}

/** Whether the person or company that a post is about can make it relevant to a profile on its own. */
export function isEvent({ type }: { type: SignalType }): boolean {
  return type === 'funding_event' || type === 'job_change';
}

function roundOf(post: EventfulPost): { place: Feature['place'] } | null {
  const place = statedAt(post, ['round', 'funding']);
  if (place === null) return null;
  const amount = amountIn(post.text.slice(place.start, place.end + REACH_UNITS));
  return amount === null || (amount >= ROUND.least && amount <= ROUND.most) ? { place } : null;
}

function amountIn(text: string): number | null {
  const found = AMOUNT.exec(text);
  if (found === null) return null;
  const number = Number(found[1]?.replace(/,(?=\d{3})/g, '').replace(/[.,]$/, ''));
  return Number.isNaN(number) ? null : number * (UNITS[found[2]?.toLowerCase() ?? ''] ?? 1);
}

function appointmentOf(
  post: EventfulPost,
  { titles, answers }: { titles: readonly string[]; answers: readonly FitAnswer[] },
): { place: Feature['place'] } | null {
  if (titles.length === 0 || isMisfit(answers) || post.content.features.has('board_only')) return null;
  const place = statedAt(post, ['appointment']);
  const known = answers.find(({ key }) => key === 'title')?.verdict;
  if (known === 'fits') return { place };
  if (place === null || known === 'does_not_fit') return null;
  const named = readTitle(post.text.slice(place.start, place.end + REACH_UNITS));
  return titles.some((title) => compareTitles(named, readTitle(title)) === 'fits') ? { place } : null;
}

function badReviewOf(post: EventfulPost, hits: readonly Hit[]): { place: Feature['place'] } | null {
  const { features, outline } = post.content;
  const isUser = ['current_tool', 'review_form', 'business'].some((name) => features.has(name));
  const place = statedAt(post, ['bad_review', 'price_pain']);
  if (place === null || !isUser || features.has('seller')) return null;
  // The reviewed product is named in the title, or next to the complaint.
  const isAbout = outline.sentences.some(
    ({ start, end, isTitle }) =>
      (isTitle || (place.start >= start && place.start < end)) &&
      hits.some((hit) => hit.kind === 'competitor' && hit.start >= start && hit.start < end),
  );
  return isAbout ? { place } : null;
}

/** "Looking to replace Shelfbot before spring", "Shelfbot vs Tally: which one?" */
function comparedOf(post: EventfulPost, hits: readonly Hit[]): { place: Feature['place'] } | null {
  const competitors = hits.filter((hit) => hit.kind === 'competitor');
  const { features, outline } = post.content;
  if (competitors.length === 0 || NO_BUYER.some((name) => features.has(name))) return null;
  const asks = features.has('asking_sentences');
  for (const { text, start, end } of outline.sentences) {
    const named = competitors.filter((hit) => hit.start >= start && hit.start < end);
    const found = named.length === 0 ? null : COMPARING.exec(text);
    if (found === null || negatedAt(text, found.index)) continue;
    if (asks || CHOOSING.test(text)) return { place: { start, end: start + text.trimEnd().length } };
  }
  return null;
}

/** "Shelfbot raised our price again. We are thinking of leaving." */
function leavingOf(post: EventfulPost, hits: readonly Hit[]): { place: Feature['place'] } | null {
  const competitors = hits.filter((hit) => hit.kind === 'competitor');
  const { features, outline } = post.content;
  if (competitors.length === 0 || ['seller', 'maker', 'job_ad'].some((name) => features.has(name)))
    return null;
  const complaint = statedAt(post, ['bad_review', 'price_pain', 'outrage', 'pain']);
  if (complaint === null) return null;
  for (const { text, start, end } of outline.sentences) {
    const found = LEAVING.exec(text);
    if (found === null || STAYS.test(found[0])) continue;
    const isAbout = competitors.some(
      (hit) => (hit.start >= start && hit.start < end) || isBeside(post, hit, complaint),
    );
    if (!isAbout) continue;
    const at = start + found.index;
    return { place: { start: at, end: at + found[0].length } };
  }
  return null;
}

/** Whether a phrase occurs in the same sentence as a position. */
function isBeside({ content }: EventfulPost, { start: at }: Hit, place: { start: number }): boolean {
  const sentence = content.outline.sentences.find(
    ({ start, end }) => place.start >= start && place.start < end,
  );
  return sentence !== undefined && at >= sentence.start && at < sentence.end;
}

function migrationOf(post: EventfulPost, hits: readonly Hit[]): { place: Feature['place'] } | null {
  const { features, outline } = post.content;
  if (hits.length === 0 || features.has('job_seeker')) return null;
  if (!features.has('job_ad') && !features.has('full_time_job')) return null;
  for (const { text, start, end } of outline.sentences) {
    const found = MIGRATION.exec(text);
    if (found === null || negatedAt(text, found.index)) continue;
    const named = hits.some((hit) => hit.kind !== 'excluded' && hit.start >= start && hit.start < end);
    const at = start + found.index;
    if (named) return { place: { start: at, end: at + found[0].length } };
  }
  return null;
}

/** Where the first of the `names` occurs, unless it is negated there. */
function statedAt(
  { content }: EventfulPost,
  names: readonly string[],
): { start: number; end: number } | null {
  for (const name of names) {
    const place = content.features.get(name)?.place;
    if (place === undefined || place === null) continue;
    const sentence = content.outline.sentences.find(
      ({ start, end }) => place.start >= start && place.start < end,
    );
    if (sentence && !negatedAt(sentence.text, place.start - sentence.start)) return place;
  }
  return null;
}

/** Whether a company is known to fit: two criteria match, or the only one does, and none fails. */
export function isKnownToFit(answers: readonly FitAnswer[]): boolean {
  const asked = aboutCompany(answers);
  const fits = asked.filter(({ verdict }) => verdict === 'fits').length;
  return asked.length > 0 && !isMisfit(answers) && fits >= Math.min(2, asked.length);
}

function isMisfit(answers: readonly FitAnswer[]): boolean {
  return aboutCompany(answers).some(({ verdict }) => verdict === 'does_not_fit');
}

function aboutCompany(answers: readonly FitAnswer[]): FitAnswer[] {
  return answers.filter(({ key }) => key !== 'title');
}
