import { addAll } from '../lib/lists.ts';
import { fitAnswers } from './fit.ts';
import type { TenantMatcher } from './matchers.ts';
import { generalOdds, likenessOdds, OFFER_BIAS } from './model/judge.ts';
import type { Offer } from './offer.ts';
import { isEvent, isKnownToFit, ownWayOf } from './own-ways.ts';
import type { Hit } from './phrases.ts';
import { type CompiledProfile, generalOddsOf, type PostReading } from './score.ts';

/** Log-odds that fit and the profile's own words may bring beside the match. */
const MOST_BESIDE = 1.5;

/** How many profiles without a phrase match are still scored to find a post's best. */
const MAX_STAND_INS = 16;

/** Which of a tenant's profiles a post may be matched with. */
export interface ProfileRule {
  /** The profiles that count, those of them that are active; empty: all that are active. */
  profileIds: readonly string[];
  /** The one profile that the post names, active or not. */
  wanted: string | undefined;
}

/** A profile that a post is scored with, and where its phrases stand in the post. */
export interface Candidate {
  compiled: CompiledProfile;
  hits: readonly Hit[];
}

/**
 * The profiles to score a post with, oldest first: those whose phrases it contains, those without phrases, those that fit
 * the person or company it is about, and those whose offer it may want. If there are none, the oldest stand in, as every
 * submitted post makes a signal; none of these can be warm. The cost does not grow with the number of profiles.
 */
export function candidatesOf(
  { profiles, open, fitting, offering }: TenantMatcher,
  reading: PostReading,
  hits: ReadonlyMap<number, Hit[]>,
  rule: ProfileRule,
): Candidate[] {
  const counts = countsUnder(rule);
  const at = (place: number): Candidate[] => {
    const compiled = profiles[place];
    return compiled && counts(compiled) ? [{ compiled, hits: hits.get(place) ?? [] }] : [];
  };
  const onTopic = [...hits].filter(([, found]) => found.some(({ kind }) => kind !== 'excluded'));
  const mayFit = isEvent(reading) || reading.facts.isKnown;
  const suited = mayFit ? fitting.filter((place) => at(place).some(isFor(reading))) : [];
  const matched =
    reading.matches.size === 0 ? [] : offering.filter((place) => at(place).some(mayWant(reading)));
  const places = new Set([...open, ...suited, ...matched, ...onTopic.map(([place]) => place)]);
  const matching = [...places].sort((a, b) => a - b).flatMap(at);
  return matching.length > 0 ? matching : standIns(profiles.length, at);
}

function isFor(reading: PostReading): (candidate: Candidate) => boolean {
  return ({ compiled, hits }) => {
    const answers = fitAnswers(reading.facts, compiled.fit);
    return (
      isKnownToFit(answers) || ownWayOf(reading, { titles: compiled.profile.titles, hits, answers }) !== null
    );
  };
}

/** Whether the match with what a profile sells leaves room for a signal, whatever else speaks for it. */
function mayWant(reading: PostReading): (candidate: Candidate) => boolean {
  const general = generalOdds(generalOddsOf(reading)).warm + OFFER_BIAS.warm + MOST_BESIDE;
  return ({ compiled: { offer } }) => {
    const match = offer === null ? undefined : reading.matches.get(offer);
    return match !== undefined && general + likenessOdds(match).warm + match.learned >= 0;
  };
}

/** What the profiles that count sell, for a post to be held against. */
export function offersOf({ profiles, offering }: TenantMatcher, rule: ProfileRule): Offer[] {
  const counts = countsUnder(rule);
  return offering.flatMap((place) => {
    const compiled = profiles[place];
    return compiled?.offer && counts(compiled) ? [compiled.offer] : [];
  });
}

function standIns(count: number, at: (place: number) => Candidate[]): Candidate[] {
  const found: Candidate[] = [];
  for (let place = 0; place < count && found.length < MAX_STAND_INS; place++) addAll(found, at(place));
  return found;
}

function countsUnder({ profileIds, wanted }: ProfileRule): (compiled: CompiledProfile) => boolean {
  if (wanted !== undefined) return ({ profile }) => profile.id === wanted;
  const ids = new Set(profileIds);
  return ({ profile }) => profile.active && (ids.size === 0 || ids.has(profile.id));
}
