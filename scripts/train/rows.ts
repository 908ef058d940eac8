import { defaultProfile, type IcpProfile, icpInputSchema, patchProfile } from '../../src/model/icp.ts';
import { loadEncoder } from '../../src/signals/encoder/load-encoder.ts';
import { fitAnswers, readFacts } from '../../src/signals/fit.ts';
import { fitFeatures, topicFeatures } from '../../src/signals/judge.ts';
import { isKnownToFit } from '../../src/signals/own-ways.ts';
import { type Feature, readFeatures } from '../../src/signals/reading/features.ts';
import { digestOf, digestParts } from '../../src/signals/reading/sentences.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import { compileTenant } from '../../test/support/compile.ts';
import type { Example } from './data.ts';

/** An example as the model sees it. */
export interface Row {
  example: Example;
  features: Map<string, Feature>;
  /** The input of the encoder. */
  digest: string;
  /** The encoder's output; empty if not requested. */
  numbers: Float32Array;
  /** Whether its company is known to match the profile. */
  isKnownToFit: boolean;
}

/** Extracts features and digests. */
export function readRows(examples: readonly Example[], profiles: readonly Record<string, unknown>[]): Row[] {
  const compiled = new Map(profiles.map((raw) => [String(raw.id), compileTenant([profileOf(raw)])]));
  return examples.map((example) => {
    const post = readFeatures(example.text);
    const features = new Map(post.features);
    const tenant = example.profileId === null ? undefined : compiled.get(example.profileId);
    const [profile] = tenant?.profiles ?? [];
    let suits = false;
    if (tenant !== undefined && profile !== undefined) {
      const hits = tenant.match(tokenize(example.text)).get(0) ?? [];
      for (const [name, feature] of topicFeatures(post, hits)) features.set(name, feature);
      const answers = fitAnswers(readFacts(example.facts), profile.fit);
      for (const [name, feature] of fitFeatures(answers)) features.set(name, feature);
      suits = isKnownToFit(answers);
    }
    const digest = digestParts(example.text, digestOf(post.outline.sentences, post.asks)).join(' ');
    return { example, features, digest, numbers: new Float32Array(), isKnownToFit: suits };
  });
}

/** Adds the output of the encoder in `folder` for the digests: 10 ms each. */
export async function encodeRows(rows: readonly Row[], folder: string): Promise<void> {
  const encoder = await loadEncoder(folder);
  for (const row of rows) row.numbers = (await encoder.encode([row.digest])).numbers;
}

/** The profile of a labelled set, as stored. */
export function profileOf(raw: Record<string, unknown>): IcpProfile {
  const { id, keywords, ...settings } = raw;
  const input = icpInputSchema.parse({ ...settings, phrases: keywords });
  return patchProfile(defaultProfile(String(id), 'ten_train', 0), input);
}
