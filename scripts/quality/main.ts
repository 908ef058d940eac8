import { systemClock } from '../../src/lib/clock.ts';
import { createEncoder, type Encoder, whyNoEncoder } from '../../src/signals/encoder/encoder.ts';
import { MODEL_VERSION } from '../../src/signals/score.ts';
import { loadExamples, loadProfiles } from '../train/data.ts';
import { byKeywords } from './keywords.ts';
import { calibrationLines, confusionLines, sliceLines, tableLines, typeLines } from './report.ts';
import { type Judged, scoreExamples } from './scored.ts';
import { sellerLines } from './sellers.ts';

const wishesSellers = process.argv[2] === 'sellers';
const folder = process.argv[wishesSellers ? 3 : 2];
if (folder === undefined) {
  console.error('Usage: npm run quality -- [sellers] FOLDER   (a folder with labels/ and posts/)');
  process.exit(64);
}
if (wishesSellers) {
  await printSellers(folder);
  process.exit(0);
}
const examples = loadExamples(folder);
const profiles = loadProfiles(folder);
const startedAt = systemClock.monotonic();

function print(title: string, lines: readonly string[]): void {
  console.log(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** The quality of unedited profiles, drafted from one line, on posts that were labelled for their sellers. */
async function printSellers(folder: string): Promise<void> {
  const encoder = whyNoEncoder() === null ? createEncoder() : null;
  console.log(`Model ${MODEL_VERSION}; profiles drafted from one line, unedited.`);
  if (encoder !== null)
    print('With the encoder (precision, recall; 95 % intervals)', await sellerLines(folder, encoder));
  print('Words alone', await sellerLines(folder, null));
  await encoder?.close();
}

async function judge(encoder: Encoder | null): Promise<Judged[]> {
  return await scoreExamples(examples, profiles, encoder);
}

const missing = whyNoEncoder();
const encoder = missing === null ? createEncoder() : null;
console.log(`Model ${MODEL_VERSION}, ${examples.length} labelled posts, scored as posted six hours ago.`);
console.log(
  'Figures of posts that the model was trained on are too high; see `accepted` in weights.json for those.',
);
const words = await judge(null);
const full = encoder === null ? words : await judge(encoder);
if (missing !== null) console.log(`The encoder is off: ${missing}.`);
print('With the encoder (target; 95 % interval)', tableLines(full));
print('With the encoder, only certain labels', tableLines(full.filter(({ example }) => example.sure)));
print('Words alone', tableLines(words));
print('A plain list of keywords', tableLines(byKeywords(examples)));
print('Confusion (label: classified as hot, warm, cold)', confusionLines(full));
print('Calibration (score: posts, share hot, share hot or warm)', calibrationLines(full));
print('Types of hot and warm posts', typeLines(full));
print(
  'By profile',
  sliceLines(full, ({ profileId }) => profileId ?? 'Default'),
);
print(
  'By source',
  sliceLines(full, ({ platform }) => platform),
);
print(
  'By kind',
  sliceLines(full, ({ kind }) => kind || 'unknown'),
);
await encoder?.close();
console.log(`\n${Math.round((systemClock.monotonic() - startedAt) / 1_000)} s`);
