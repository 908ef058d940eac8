import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  defaultProfile,
  type IcpPatch,
  type IcpProfile,
  icpInputSchema,
  patchProfile,
} from '../../src/model/icp.ts';
import type { Classification } from '../../src/model/signal.ts';
import { draftFromOffer, kindsOf } from '../../src/signals/draft.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { classify, readPost, scorePost } from '../../src/signals/score.ts';
import { compileTenant } from '../../test/support/compile.ts';
import { textOf } from '../train/data.ts';

interface SellersPost {
  id: string;
  title?: string;
  text?: string;
  /** Sellers for which it is a signal. */
  for: Record<string, 'hot' | 'warm'>;
}

/** The result of a seller's unedited draft profile for one post, with the reader's label. */
interface Prediction {
  seller: string;
  predicted: Classification;
  label: Classification;
}

const AGE_MS = 6 * 3_600_000;
const UNKNOWN = { title: '', companyName: '', industry: '', headcount: '', location: '' };

/** The table of sellers: each profile is drafted from one line, and every labelled post is scored with all profiles. */
export async function sellerLines(folder: string, encoder: Encoder | null): Promise<string[]> {
  const offers: Record<string, string> = JSON.parse(
    readFileSync(join(folder, 'labels/sellers.json'), 'utf8'),
  );
  const posts = readdirSync(join(folder, 'labels'))
    .filter((name) => name.startsWith('sellers-') && name.endsWith('.jsonl'))
    .flatMap((name) =>
      readFileSync(join(folder, 'labels', name), 'utf8')
        .split('\n')
        .filter(Boolean),
    )
    .map((line) => JSON.parse(line) as SellersPost);
  const predictions = await predictAll(posts, offers, encoder);
  const keys = Object.keys(offers);
  return [
    `${'seller'.padEnd(14)} hot or warm: precision, recall                    hot: precision, at least warm, recall`,
    ...keys.map((key) =>
      lineOf(
        key,
        predictions.filter(({ seller }) => seller === key),
      ),
    ),
    lineOf('all', predictions),
  ];
}

async function predictAll(
  posts: readonly SellersPost[],
  offers: Readonly<Record<string, string>>,
  encoder: Encoder | null,
): Promise<Prediction[]> {
  const sellers = Object.keys(offers);
  const profiles: IcpProfile[] = [];
  for (const [i, key] of sellers.entries()) {
    const offer = offers[key] ?? '';
    const near = encoder === null ? [] : await kindsOf(offer, encoder);
    const draft = icpInputSchema.parse({ ...draftFromOffer(offer, null, near), name: key }) as IcpPatch;
    profiles.push(patchProfile(defaultProfile(`icp_${i}`, 'ten_quality', i), draft));
  }
  const tenant = compileTenant(profiles);
  const predictions: Prediction[] = [];
  for (const post of posts) {
    const words = readPost({ ...UNKNOWN, text: textOf(post), ageMs: AGE_MS }, encoder !== null);
    const hits = tenant.match(words.tokens);
    const candidates = tenant.profiles.map((compiled, place) => ({ compiled, hits: hits.get(place) ?? [] }));
    const reading = await addMeaning(words, candidates, { encoder });
    for (const [place, candidate] of candidates.entries()) {
      const { score, thresholds } = scorePost(reading, candidate.compiled, candidate.hits);
      const seller = sellers[place] ?? '';
      predictions.push({ seller, predicted: classify(score, thresholds), label: post.for[seller] ?? 'cold' });
    }
  }
  return predictions;
}

function lineOf(name: string, predictions: readonly Prediction[]): string {
  const shown = predictions.filter((each) => each.predicted !== 'cold');
  const wanted = predictions.filter((each) => each.label !== 'cold');
  const hot = predictions.filter((each) => each.predicted === 'hot');
  const wantedHot = predictions.filter((each) => each.label === 'hot');
  const both = (list: readonly Prediction[], test: (each: Prediction) => boolean) =>
    share(list.filter(test).length, list.length);
  return [
    name.padEnd(14),
    both(shown, ({ label }) => label !== 'cold'),
    both(wanted, (each) => each.predicted !== 'cold'),
    '  ',
    both(hot, ({ label }) => label === 'hot'),
    both(hot, ({ label }) => label !== 'cold'),
    both(wantedHot, (each) => each.predicted === 'hot'),
  ].join(' ');
}

/** A share with its 95 % interval (Wilson) and its counts. */
function share(count: number, of: number): string {
  if (of === 0) return '–'.padEnd(24);
  const [p, z] = [count / of, 1.96];
  const middle = (p + (z * z) / (2 * of)) / (1 + (z * z) / of);
  const half = (z * Math.sqrt((p * (1 - p)) / of + (z * z) / (4 * of * of))) / (1 + (z * z) / of);
  const two = (value: number) => Math.max(0, value).toFixed(2).replace(/^0/, '');
  return `${two(p)} [${two(middle - half)} ${two(middle + half)}] ${count}/${of}`.padEnd(24);
}
