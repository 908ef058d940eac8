import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { defaultProfile, type IcpProfile, icpInputSchema, patchProfile } from '../../src/model/icp.ts';
import { loadEncoder } from '../../src/signals/encoder/load-encoder.ts';
import { fitAnswers, readFacts } from '../../src/signals/fit.ts';
import { compileTenant } from '../../src/signals/matchers.ts';
import { fitFeatures } from '../../src/signals/model/fit-features.ts';
import { topicFeatures } from '../../src/signals/model/topic-features.ts';
import { isKnownToFit } from '../../src/signals/own-ways.ts';
import { digestOf, digestText } from '../../src/signals/reading/digest.ts';
import { type Feature, readFeatures } from '../../src/signals/reading/features.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import type { Example } from './data.ts';

/** An example as the model sees it. */
export interface Row {
  example: Example;
  features: Map<string, Feature>;
  numbers: Float32Array;
  /** Whether its company is known to be whom the profile asks for. */
  isKnownToFit: boolean;
}

/** Reads features and encodes digests; what was encoded before is taken from `cacheFile`. */
export async function readRows(
  examples: readonly Example[],
  profiles: readonly Record<string, unknown>[],
  cacheFile: string,
): Promise<Row[]> {
  const compiled = new Map(profiles.map((raw) => [String(raw.id), compileTenant([profileOf(raw)])]));
  const encode = await createCachedEncoder(cacheFile);
  const rows: Row[] = [];
  for (const example of examples) {
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
    const digest = digestText(example.text, digestOf(post.outline.sentences, post.asks));
    rows.push({ example, features, numbers: await encode.of(digest), isKnownToFit: suits });
  }
  encode.save();
  return rows;
}

/** A labelled set's profile as a stored one. */
export function profileOf(raw: Record<string, unknown>): IcpProfile {
  const { id, keywords, ...settings } = raw;
  const input = icpInputSchema.parse({ ...settings, phrases: keywords });
  return patchProfile(defaultProfile(String(id), 'ten_train', 0), input);
}

/** Encoding thousands of posts takes minutes: numbers are kept in a file beside the run. */
async function createCachedEncoder(file: string) {
  const known: Record<string, string> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const encoder = await loadEncoder();
  return {
    async of(text: string): Promise<Float32Array> {
      const key = createHash('sha256').update(text).digest('base64');
      known[key] ??= Buffer.from((await encoder.encode(text)).buffer).toString('base64');
      return new Float32Array(new Uint8Array(Buffer.from(known[key], 'base64')).buffer);
    },
    save: () => writeFileSync(file, JSON.stringify(known)),
  };
}
