import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hash, textOf } from '../data.ts';
import { type Reading, readSellers } from './readings.ts';

/** A post of the folder that was labelled for sellers. */
export interface OfferPost {
  id: string;
  text: string;
  reading: Reading;
  /** By seller of the catalogue; omitted: not a signal for it. */
  labels: Readonly<Record<string, 'hot' | 'warm'>>;
  /** The folder's own labels, for its given sellers; null: none. */
  given: Readonly<Record<string, 'hot' | 'warm'>> | null;
  fold: number;
}

/** The sellers with labels in the folder are held out together, with their posts. */
export const GIVEN_SELLERS: readonly string[] = ['crm', 'bookkeeping', 'ats', 'email', 'shopify', 'gpu'];
const FOLDS = 4;

/** The fold of a seller of the catalogue: an encoder tuned without it has seen neither its offer nor its posts. */
export function offerFold(key: string): number {
  return GIVEN_SELLERS.includes(key) ? 0 : hash(key, 7) % FOLDS;
}

export function offerPosts(folder: string): OfferPost[] {
  const { posts, given } = postsOf(folder);
  return readSellers().flatMap((reading) => {
    const post = posts.get(reading.id);
    if (post === undefined) return [];
    const isGiven = given.has(reading.id);
    const fold = isGiven ? 0 : hash(reading.id, 7) % FOLDS;
    const known = { id: reading.id, text: textOf(post), reading, labels: reading.for, fold };
    return [{ ...known, given: isGiven ? (post.for ?? {}) : null }];
  });
}

/** Titles and their bodies, of all posts without labels for the given sellers. */
export function titledPosts(folder: string): { title: string; body: string }[] {
  const { posts, given } = postsOf(folder);
  return [...posts.values()].flatMap(({ id, title = '', text = '' }) => {
    const [head, all] = [title.trim(), text.trim()];
    const body = all.startsWith(head) ? all.slice(head.length).trim() : all;
    return given.has(id) || head.length < LEAST_TITLE || body.length < LEAST_BODY
      ? []
      : [{ title: head, body }];
  });
}

const [LEAST_TITLE, LEAST_BODY] = [16, 61];

interface Post {
  id: string;
  title?: string;
  text?: string;
  /** For `sellers-stream-train`: the given labels. */
  for?: Record<string, 'hot' | 'warm'>;
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

function rowsOf<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
