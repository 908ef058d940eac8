import { writeFileSync } from 'node:fs';
import { createEncoder } from '../../../src/signals/encoder/encoder.ts';
import { numbersOf, readKnownOffers } from '../../../src/signals/offer.ts';
import { readFeatures } from '../../../src/signals/reading/features.ts';
import { digestOf, digestParts } from '../../../src/signals/reading/sentences.ts';
import catalogue from './catalogue.json' with { type: 'json' };
import { bytesOf } from './needs-file.ts';
import { offerFold, offerPosts } from './posts.ts';
import { writtenSellers } from './readings.ts';

/**
 * Writes the needs for `src/signals/needs.ts`, with the offer encoder of the package: of each labelled post, and one of each seller with
 * made-up posts. A FOLD leaves out its posts and sellers, for figures of unseen ones.
 */
const [folder, out, fold] = process.argv.slice(2);
if (folder === undefined || out === undefined) {
  console.error(
    'Usage: node scripts/train/offers/needs.ts FOLDER OUT [FOLD]   (see scripts/train/README.md)',
  );
  process.exit(64);
}
const held = fold === undefined ? null : Number(fold);
const sellers = new Map<string, string>([
  ...readKnownOffers().map(({ key, offer }) => [key, offer] as const),
  ...Object.entries(catalogue).filter(([key]) => held === null || offerFold(key) !== held),
]);
const isHeld = (key: string) => key in catalogue && held !== null && offerFold(key) === held;
const encoder = createEncoder();
const needs = [];
for (const { text, reading, labels, fold: own } of offerPosts(folder)) {
  if (own === held || reading.buying === 'cold' || reading.wants === '') continue;
  const fitting = Object.keys(labels).flatMap((key) => (isHeld(key) ? [] : (sellers.get(key) ?? [])));
  const offers = [...new Set([...reading.offers, ...fitting])];
  if (offers.length === 0) continue;
  const [post, wants, ...meeting] = await Promise.all([
    postNumbers(text),
    ...[reading.wants, ...offers].map((each) => numbersOf(each, encoder)),
  ]);
  if (post !== undefined && wants !== undefined)
    needs.push({ text: mean([post, wants]), offers: mean(meeting) });
}
for (const { key, offer, short, posts } of writtenSellers()) {
  if (isHeld(key)) continue;
  const wishes = posts.filter(({ label }) => label !== 'not');
  const [texts, offers] = await Promise.all([
    Promise.all(wishes.map(({ text }) => postNumbers(text))),
    Promise.all([offer, short].map((each) => numbersOf(each, encoder))),
  ]);
  needs.push({ text: mean(texts), offers: mean(offers) });
}
await encoder.close();
writeFileSync(out, bytesOf(needs));
console.log(`${needs.length} needs`);

async function postNumbers(text: string): Promise<Float32Array> {
  const { outline, asks } = readFeatures(text);
  return (await encoder.encode(digestParts(text, digestOf(outline.sentences, asks)), 'offers')).numbers;
}

/** The mean of unit vectors, with length 1. */
function mean(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) for (const [i, number] of vector.entries()) sum[i] = (sum[i] ?? 0) + number;
  const length = Math.hypot(...sum);
  return sum.map((number) => number / length);
}
