import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTokenizer } from '../../../src/signals/encoder/load-encoder.ts';
import { readKnownOffers } from '../../../src/signals/offer.ts';
import { readFeatures } from '../../../src/signals/reading/features.ts';
import { digestOf, digestParts } from '../../../src/signals/reading/sentences.ts';
import catalogue from './catalogue.json' with { type: 'json' };
import { offerFold, offerPosts, titledPosts } from './posts.ts';
import { writtenSellers } from './readings.ts';

/** In no fold: only used for training. */
const LEARNT_FROM = -1;
const MOST_OF_TITLE = 48;

const [folder, work] = process.argv.slice(2);
if (folder === undefined || work === undefined) {
  console.error('Usage: npm run train:offers -- FOLDER WORK   (see scripts/train/README.md)');
  process.exit(64);
}
const tokens = await loadTokenizer();
const offers: string[] = Object.values(catalogue);
const keys = Object.keys(catalogue);
const places = new Map(offers.map((offer, i) => [offer, i]));
const known = new Map(readKnownOffers().map(({ key, offer }) => [key, offer]));

function placeOf(offer: string): number {
  const place = places.get(offer) ?? offers.push(offer) - 1;
  places.set(offer, place);
  return place;
}

/** A seller's index: of its line in the catalogue, or of the known offer. */
function placeOfSeller(key: string): number {
  const place = keys.indexOf(key);
  if (place >= 0) return place;
  const offer = known.get(key);
  if (offer === undefined) throw new Error(`no offer has the key ${key}`);
  return placeOf(offer);
}

/** A post as tokens, and the number of tokens of each sentence, without the special tokens at both ends. */
function readOf(text: string) {
  const { outline, asks } = readFeatures(text);
  const parts = digestParts(text, digestOf(outline.sentences, asks));
  return {
    tokens: tokens(parts.join(' ')),
    lengths: parts.map((part) => tokens(part).length - 2),
  };
}

/** `own` and `against`: offers that were written for the post, matching and non-matching ones. */
const read = offerPosts(folder).map(({ id, text, reading, labels, fold }) => ({
  ...readOf(text),
  id,
  isWritten: false,
  wants: reading.wants === '' ? null : tokens(reading.wants),
  buying: reading.buying,
  sure: reading.sure,
  for: Object.entries(labels).map(([key, label]) => [placeOfSeller(key), label]),
  all: reading.all === true,
  own: reading.offers.map(placeOf),
  against: reading.near.map(placeOf),
  fold,
}));
const written = writtenSellers().flatMap((seller) => {
  const place = keys.indexOf(seller.key);
  const own = [placeOf(seller.offer), placeOf(seller.short), ...(place < 0 ? [] : [place])];
  return seller.posts.map(({ label, text }, n) => {
    const fits = label !== 'not';
    return {
      ...readOf(text),
      id: `${seller.key}-${n}`,
      isWritten: true,
      wants: null,
      buying: fits ? label : 'cold',
      sure: true,
      for: [],
      own: fits ? own : [],
      against: fits ? [] : own,
      fold: place < 0 ? LEARNT_FROM : offerFold(seller.key),
    };
  });
});
const rows = [...read, ...written];
const start = {
  keys,
  folds: keys.map(offerFold),
  /** Indexes of all known offers, and of those that are not in the catalogue. */
  known: [...known.values()].map(placeOf),
  further: [...known].flatMap(([key, offer]) => (keys.includes(key) ? [] : [placeOf(offer)])),
  rows,
  offers: offers.map(tokens),
};
writeFileSync(join(work, 'offers.json'), JSON.stringify(start));
const titles = titledPosts(folder).map(({ title, body }) => ({
  title: tokens(title).slice(0, MOST_OF_TITLE),
  body: readOf(body).tokens,
}));
writeFileSync(join(work, 'titles.json'), JSON.stringify(titles));
console.log(`${rows.length} posts, ${offers.length} offers, ${titles.length} titles with their bodies`);
