import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { addAll } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import { excerpt, parseUrl } from '../lib/text.ts';
import { createYielder, eachInTurns, sharedOnce } from '../lib/yielding.ts';
import { NO_SETTINGS } from '../model/constants.ts';
import type { IcpProfile } from '../model/icp.ts';
import {
  kindSchema,
  type Source,
  type SourceKind,
  type SourceSettings,
  sourceInputSchema,
} from '../model/source.ts';
import type { Encoder } from './encoder/encoder.ts';
import { createNearest, numbersOf } from './offer.ts';
import { tokenize } from './tokens.ts';

const lineSchema = z.strictObject({
  kind: kindSchema,
  name: z.string().min(1),
  /** The audience of the place, and its topics. */
  about: z.string().min(1),
  settings: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
});

/** A place where posts can be read: a community, a search, a forum, a board. */
export interface Place {
  kind: SourceKind;
  /** Unique in the catalogue, and the name of its source. */
  name: string;
  about: string;
  settings: SourceSettings;
}

/** Kinds that need credentials of the tenant before they can be read. */
export const NEEDS_OWN_APP: readonly SourceKind[] = ['reddit'];

const FILE = inPackage('data/offers/places.jsonl');
/** Maximum number of suggestions of one kind: six searches on one site are one place. */
const MOST_OF_A_KIND = 2;
/** Later words of a profile repeat what the first ones say. */
const MAX_WORDS = 200;
/** Minimum similarity to a profile, relative to the best place. */
const LEAST_OF_BEST = 0.4;

let catalogue: Place[] | null = null;

/** The catalogue, read once. @throws if a line is malformed */
export function readPlaces(): readonly Place[] {
  catalogue ??= readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => placeOf(lineSchema.parse(JSON.parse(line))));
  return catalogue;
}

/** Validates the settings like those of a source; for kinds that need credentials, without these. */
function placeOf({ settings, ...line }: z.output<typeof lineSchema>): Place {
  const input = sourceInputSchema.parse({ kind: line.kind, name: line.name, ...settings });
  const given = Object.keys(NO_SETTINGS).map((name) => [name, input[name as keyof typeof input] ?? null]);
  return { ...line, settings: Object.fromEntries(given) as unknown as SourceSettings };
}

const nearest = createNearest(readPlaces, (places, encoder) =>
  Promise.all(places.map(async ({ about }) => [await numbersOf(about, encoder)])),
);

/**
 * Suggests places for a profile, best first, without those that are read already. They are ranked by the
 * meaning of the offer if there is an encoder, otherwise by words. A search for people who want to leave a
 * competitor is added.
 */
export async function proposePlaces(
  profile: IcpProfile,
  {
    encoder,
    sources,
    count,
  }: { encoder: Encoder | null; sources: readonly Pick<Source, 'kind' | 'settings'>[]; count: number },
): Promise<Place[]> {
  const byWords = await likenessByWords(profile);
  const ranked = (
    encoder === null || profile.offer === ''
      ? readPlaces().map((item) => ({ item, score: byWords(item) }))
      : (await nearest(profile.offer, encoder)).map(({ item, likeness }) => ({
          item,
          score: likeness + byWords(item) / 4,
        }))
  ).sort((a, b) => b.score - a.score);
  const least = (ranked[0]?.score ?? 0) * LEAST_OF_BEST;
  const competitor = profile.competitors[0];
  const all = [
    ...(competitor === undefined ? [] : [leaversOf(competitor)]),
    ...ranked.filter(({ score }) => score > 0 && score >= least).map(({ item }) => item),
  ];
  const known = new Set(sources.map(keyOf));
  const narrowed = all.map((place) => narrowedTo(profile, place));
  const taken = new Map<SourceKind, number>();
  const chosen: Place[] = [];
  for (const place of narrowed) {
    const ofKind = taken.get(place.kind) ?? 0;
    if (chosen.length === count || ofKind === MOST_OF_A_KIND || known.has(keyOf(place))) continue;
    taken.set(place.kind, ofKind + 1);
    chosen.push(place);
  }
  return chosen;
}

/** The place with a name: from the catalogue, or the search for a competitor of the profile. */
export function placeNamed(name: string, profile: IcpProfile | null): Place | null {
  const own = (profile?.competitors ?? []).map(leaversOf).find((place) => place.name === name);
  const place = own ?? readPlaces().find((each) => each.name === name) ?? null;
  return place === null || profile === null ? place : narrowedTo(profile, place);
}

/**
 * A whole site has too many questions for one source: only those that contain the profile's first phrase are
 * read.
 */
function narrowedTo({ phrases, offer }: IcpProfile, place: Place): Place {
  const { kind, settings } = place;
  if (kind !== 'stackexchange' || settings.tagged !== null) return place;
  return { ...place, settings: { ...settings, query: phrases[0] ?? (excerpt(offer, 100) || 'recommend') } };
}

function leaversOf(competitor: string): Place {
  const query = `${competitor} alternative`;
  return {
    kind: 'hackernews',
    name: `Hacker News: ${query}`,
    about: `people who want to leave ${competitor}`,
    settings: { ...NO_SETTINGS, query },
  };
}

function keyOf({ kind, settings }: Pick<Source, 'kind' | 'settings'>): string {
  const { url, query, site, tagged, tag, subreddit } = settings;
  const asked = kind === 'stackexchange' ? null : query;
  const host = url === null ? null : parseUrl(url)?.host;
  return JSON.stringify([kind, host, asked, site, tagged, tag, subreddit]).toLowerCase();
}

/**
 * Share of a profile's words that describe a place, from 0 to 1, weighted towards rare words and words of its
 * audience. Common business words (owners, managers, firms) do not count.
 */
async function likenessByWords({
  offer,
  phrases,
  industries,
  titles,
}: IcpProfile): Promise<(place: Place) => number> {
  const said = await stemsInTurns([offer, ...phrases, ...industries, ...titles], MAX_WORDS);
  const wanted = new Set(said.filter((word) => word.length > 2).map(rootOf));
  const ofAudience = await stemsInTurns([/\bfor (.*)$/is.exec(offer)?.[1] ?? '', ...industries]);
  const audience = new Set(ofAudience.map(rootOf).filter((word) => !ANY_AUDIENCE.has(word)));
  const stems = await catalogueStems();
  const places = new Map<string, number>();
  for (const words of stems.values()) for (const word of words) places.set(word, (places.get(word) ?? 0) + 1);
  const weight = (word: string) =>
    Math.log((1 + readPlaces().length) / (1 + (places.get(word) ?? 0))) *
    (audience.has(word) ? AUDIENCE_WEIGHT : 1);
  const whole = [...wanted].filter((word) => places.has(word)).reduce((sum, word) => sum + weight(word), 0);
  return (place) => {
    const shared = [...(stems.get(place) ?? stemsOf(place))].filter((word) => wanted.has(word));
    return whole === 0 ? 0 : shared.reduce((sum, word) => sum + weight(word), 0) / whole;
  };
}

const AUDIENCE_WEIGHT = 1.5;
/** Audiences that almost every offer has. */
const ANY_AUDIENCE = new Set(rootsOf('home house family platform group customer'));

/** The first words of these texts, split between other tasks: a profile's texts have 60 KB, and some characters take 1 µs each. */
async function stemsInTurns(texts: readonly string[], most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const nextTurn = createYielder({ monotonic: () => performance.now() });
  const stems: string[] = [];
  for (const text of texts) {
    if (stems.length >= most) break;
    addAll(stems, tokenize(text).stems);
    await nextTurn();
  }
  return stems.slice(0, most);
}

/** The words of every place in the catalogue; computed once, in about 20 ms. */
const catalogueStems: () => Promise<ReadonlyMap<Place, Set<string>>> = sharedOnce(() =>
  eachInTurns(readPlaces(), async (place) => [place, stemsOf(place)] as const).then((all) => new Map(all)),
);

/**
 * The words that describe a place, without the name of its site, which says nothing about the topics there.
 */
function stemsOf({ name, about }: Place): Set<string> {
  const own = /^[^:]+: (.*)$/s.exec(name)?.[1] ?? '';
  return new Set(rootsOf(`${own} ${about}`).filter((word) => !FILLING.has(word)));
}

function rootsOf(text: string): string[] {
  return tokenize(text).stems.map(rootOf);
}

/** A shorter stem, so that "plumbers" matches "plumbing" and "electricians" matches "electrical". */
function rootOf(stem: string): string {
  return stem.length < 6 ? stem : stem.replace(/(?:ing|ers?|ants?|ical|ians?|als?)$/, '');
}

const FILLING = new Set(
  rootsOf(
    'and with for who that user people company tool software the need from owner own manager management firm business ' +
      'service system app work working team head office operations best online product alternative ask use',
  ),
);
