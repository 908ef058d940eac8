import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEncoder, whyNoEncoder } from '../../src/signals/encoder/encoder.ts';
import { MODEL_VERSION } from '../../src/signals/score.ts';
import type { Example } from '../train/data.ts';
import { type Judged, scoreExamples } from './scored.ts';

/** One version of a scene, as stored in the file. */
interface Telling {
  scene: string;
  label: Example['label'];
  /** The form: `ask` for hot ones; `pain`, `trigger` or `gathering` for warm ones; for cold ones, the form that they resemble. */
  form: string;
  text: string;
}

const FILE = join(import.meta.dirname, 'scenes.jsonl');
const NO_FACTS = { title: '', companyName: '', industry: '', headcount: '', location: '' };

function exampleOf({ scene, label, form, text }: Telling): Example {
  const unknown = { platform: '', type: '', sure: true, profileId: null, facts: NO_FACTS };
  return { ...unknown, set: 'scenes', id: scene, text, label, kind: form };
}

/** Pairs of a buyer and a non-buyer of the same scene. */
function pairsOf(judged: readonly Judged[]): { buyer: Judged; other: Judged }[] {
  const scenes = Map.groupBy(judged, ({ example }) => example.id);
  return [...scenes.values()].flatMap((versions) => {
    const buyers = versions.filter(({ example }) => example.label === 'hot');
    const others = versions.filter(({ example }) => example.label === 'cold');
    return buyers.flatMap((buyer) => others.map((other) => ({ buyer, other })));
  });
}

function share(all: readonly Judged[], test: (one: Judged) => boolean): string {
  return `${all.filter(test).length} of ${all.length} (${((100 * all.filter(test).length) / all.length).toFixed(0)} %)`;
}

function linesOf(judged: readonly Judged[]): string[] {
  const pairs = pairsOf(judged);
  const above = pairs.filter(({ buyer, other }) => buyer.score > other.score).length;
  const apart = pairs.filter(
    ({ buyer, other }) => buyer.predicted !== 'cold' && other.predicted === 'cold',
  ).length;
  const of = (label: Example['label']) => judged.filter(({ example }) => example.label === label);
  const forms = Map.groupBy(of('cold'), ({ example }) => example.kind);
  return [
    `buyers scored above non-buyers: ${above} of ${pairs.length} pairs (${((100 * above) / pairs.length).toFixed(0)} %)`,
    `distinguished by class (buyer hot or warm, non-buyer cold): ${apart} of ${pairs.length}`,
    `buyers classified as hot: ${share(of('hot'), ({ predicted }) => predicted === 'hot')}, hot or warm: ${share(of('hot'), ({ predicted }) => predicted !== 'cold')}`,
    `pains and triggers classified as warm or hot: ${share(of('warm'), ({ predicted }) => predicted !== 'cold')}`,
    ...[...forms].map(
      ([form, all]) => `${form} classified as cold: ${share(all, ({ predicted }) => predicted === 'cold')}`,
    ),
  ];
}

/** Scores scenes that are not in the training data, and prints how well buyers are distinguished from posts that only resemble them. */
const tellings = readFileSync(FILE, 'utf8').split('\n').filter(Boolean);
const examples = tellings.map((line) => exampleOf(JSON.parse(line)));
const missing = whyNoEncoder();
const encoder = missing === null ? createEncoder() : null;
console.log(
  `Model ${MODEL_VERSION}, ${examples.length} versions of ${new Set(examples.map(({ id }) => id)).size} scenes.`,
);
if (encoder !== null)
  console.log(`\nWith the encoder\n  ${linesOf(await scoreExamples(examples, [], encoder)).join('\n  ')}`);
else console.log(`The encoder is off: ${missing}.`);
console.log(`\nWords alone\n  ${linesOf(await scoreExamples(examples, [], null)).join('\n  ')}`);
await encoder?.close();
