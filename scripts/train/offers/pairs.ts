import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultProfile, type IcpProfile, icpInputSchema, patchProfile } from '../../../src/model/icp.ts';
import { draftFromOffer, kindsOf } from '../../../src/signals/draft.ts';
import { createEncoder } from '../../../src/signals/encoder/encoder.ts';
import { readMeaning } from '../../../src/signals/meaning.ts';
import { generalOddsOf, mayBeWish, readPost } from '../../../src/signals/score.ts';
import { compileTenant } from '../../../test/support/compile.ts';
import catalogue from './catalogue.json' with { type: 'json' };
import { GIVEN_SELLERS, offerFold, offerPosts } from './posts.ts';

/** The product's result for each pair of post and seller that the encoder was not tuned on: the input of `fit.py`. */
const [folder, work, fold] = process.argv.slice(2);
if (folder === undefined || work === undefined || fold === undefined) {
  console.error('Usage: node scripts/train/offers/pairs.ts FOLDER WORK FOLD   (see scripts/train/README.md)');
  process.exit(64);
}
const offers: Readonly<Record<string, string>> = catalogue;
const sellers = Object.keys(offers).filter((key) => offerFold(key) === Number(fold));
const encoder = createEncoder();
const profiles: IcpProfile[] = [];
for (const [i, key] of sellers.entries()) {
  const offer = offers[key] ?? '';
  const draft = { ...draftFromOffer(offer, null, await kindsOf(offer, encoder)), name: key };
  profiles.push(patchProfile(defaultProfile(`icp_${i}`, 'ten_train', i), icpInputSchema.parse(draft)));
}
const tenant = compileTenant(profiles);
const rows = [];
for (const { id, text, labels, given, fold: own } of offerPosts(folder)) {
  if (own !== Number(fold)) continue;
  const facts = { title: '', companyName: '', industry: '', headcount: '', location: '' };
  const words = readPost({ ...facts, text }, true);
  const hits = tenant.match(words.tokens);
  const sold = tenant.profiles.flatMap(({ offer }) => offer ?? []);
  const reading = await readMeaning(words, sold, { encoder, nextTurn: async () => {} });
  const { hot, warm } = generalOddsOf(reading);
  for (const [place, { offer }] of tenant.profiles.entries()) {
    const seller = sellers[place] ?? '';
    const match = offer === null ? undefined : reading.matches.get(offer);
    const kinds = new Set((hits.get(place) ?? []).map(({ kind }) => kind));
    rows.push({
      id,
      seller,
      hot,
      warm,
      mayBeWish: mayBeWish(words),
      sentence: match?.sentence ?? null,
      described: match?.described ?? null,
      rivals: match?.rivals ?? null,
      needs: match?.needs ?? null,
      phrase: kinds.has('phrase'),
      competitor: kinds.has('competitor'),
      label: labels[seller] ?? 'cold',
      given: given !== null && GIVEN_SELLERS.includes(seller) ? (given[seller] ?? 'cold') : null,
    });
  }
}
await encoder.close();
writeFileSync(join(work, `pairs-${fold}.json`), JSON.stringify(rows));
console.log(`${rows.length} pairs`);
