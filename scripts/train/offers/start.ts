import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultProfile } from '../../../src/model/icp.ts';
import { loadEncoder, loadTokenizer } from '../../../src/signals/encoder/load-encoder.ts';
import { encoderOdds } from '../../../src/signals/model/judge.ts';
import { MODEL } from '../../../src/signals/model/learnt.ts';
import { digestOf, digestText } from '../../../src/signals/reading/digest.ts';
import { readPost } from '../../../src/signals/score.ts';
import { compileTenant } from '../../../test/support/compile-tenant.ts';
import { hash, textOf } from '../data.ts';
import catalogue from './catalogue.json' with { type: 'json' };

/** A post as it was read for sellers: see README. */
interface Reading {
  id: string;
  buying: 'hot' | 'warm' | 'cold';
  sure: boolean;
  /** What its author wants, in the reader's words. */
  wants: string;
  /** Sellers of the catalogue for whom it is a signal. */
  for: Record<string, 'hot' | 'warm'>;
  /** Offers, written for the post, for which it is one. */
  offers: string[];
  /** An offer, written for the post, that shares its words and for which it is none; empty: it has none. */
  near: string;
}

interface Post {
  id: string;
  title?: string;
  text?: string;
  /** Of `sellers-stream-train`: the given labels. */
  for?: Record<string, 'hot' | 'warm'>;
}

const FOLDS = 4;
/** The sellers that the labels are given for are held out together, with their posts. */
const GIVEN_SELLERS = ['crm', 'bookkeeping', 'ats', 'email', 'shopify', 'gpu'];

function rowsOf<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

function postsOf(folder: string): { posts: Map<string, Post>; given: ReadonlySet<string> } {
  const files = ['labels', 'posts'].flatMap((part) =>
    readdirSync(join(folder, part))
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => join(folder, part, name)),
  );
  const posts = new Map<string, Post>();
  for (const file of files)
    for (const post of rowsOf<Post>(file)) if (textOf(post) !== '') posts.set(post.id, post);
  const sellers = rowsOf<Post>(join(folder, 'labels/sellers-stream-train.jsonl'));
  for (const post of sellers) posts.set(post.id, post);
  return { posts, given: new Set(sellers.map(({ id }) => id)) };
}

/** What the general judge says, before anything is known of sellers. */
function intentOf(text: string) {
  const [compiled] = compileTenant([defaultProfile('icp_train', 'ten_train', 0)]).profiles;
  if (compiled === undefined) throw new Error('the default profile compiles');
  const facts = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const reading = readPost({ ...facts, text }, true);
  const digest = digestText(text, digestOf(reading.content.outline.sentences, reading.content.asks));
  const sum = (question: 'hot' | 'warm') =>
    [...reading.parts.values()].reduce((odds, part) => odds + part.odds[question], 0);
  return { judge: reading.judge, digest, hot: sum('hot'), warm: sum('warm') };
}

const [folder, work] = process.argv.slice(2);
if (folder === undefined || work === undefined) {
  console.error('Usage: npm run train:offers -- FOLDER WORK   (see scripts/train/README.md)');
  process.exit(64);
}
const { posts, given } = postsOf(folder);
const readings = rowsOf<Reading>(join(import.meta.dirname, 'readings.jsonl'));
const [tokens, encoder] = await Promise.all([loadTokenizer(), loadEncoder()]);
const offers: string[] = Object.values(catalogue);
const keys = Object.keys(catalogue);
const places = new Map(offers.map((offer, i) => [offer, i]));
const placeOf = (offer: string) => {
  const place = places.get(offer) ?? offers.push(offer) - 1;
  places.set(offer, place);
  return place;
};

const rows = [];
for (const reading of readings) {
  const post = posts.get(reading.id);
  if (post === undefined) continue;
  const { judge, digest, hot, warm } = intentOf(textOf(post));
  const { encoderCentre: centre, encoderReach: reach } = MODEL;
  const share = encoderOdds(judge, await encoder.encode(digest), { centre, reach });
  rows.push({
    id: reading.id,
    tokens: tokens(digest),
    wants: reading.wants === '' ? null : tokens(reading.wants),
    buying: reading.buying,
    sure: reading.sure,
    hot: hot + judge.hot.bias + share.hot,
    warm: warm + judge.warm.bias + share.warm,
    for: Object.entries(reading.for).map(([key, label]) => [keys.indexOf(key), label]),
    own: reading.offers.map(placeOf),
    near: reading.near === '' ? null : placeOf(reading.near),
    given: given.has(reading.id) ? (post.for ?? {}) : null,
    fold: given.has(reading.id) ? 0 : hash(reading.id, 7) % FOLDS,
  });
}
const folds = keys.map((key) => (GIVEN_SELLERS.includes(key) ? 0 : hash(key, 7) % FOLDS));
const start = { keys, folds, offers: offers.map(tokens), texts: offers, rows };
writeFileSync(join(work, 'offers.json'), JSON.stringify(start));
console.log(`${rows.length} posts of ${readings.length}, ${offers.length} offers`);
process.exit(0);
