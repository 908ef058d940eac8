import { defaultProfile } from '../../src/model/icp.ts';
import type { Classification, SignalType } from '../../src/model/signal.ts';
import type { Encoder } from '../../src/signals/encoder/encoder.ts';
import { addMeaning } from '../../src/signals/meaning.ts';
import { classify, readPost, scorePost } from '../../src/signals/score.ts';
import { compileTenant } from '../../test/support/compile.ts';
import type { Example } from '../train/data.ts';
import { profileOf } from '../train/rows.ts';

/** An example with its score. */
export interface Judged {
  example: Example;
  score: number;
  predicted: Classification;
  type: SignalType;
}

const AGE_MS = 6 * 3_600_000;

/** Scores examples as the product does, each with its profile, as posted six hours ago. */
export async function scoreExamples(
  examples: readonly Example[],
  profiles: readonly Record<string, unknown>[],
  encoder: Encoder | null,
): Promise<Judged[]> {
  const fallback = compileTenant([defaultProfile('icp_default', 'ten_quality', 0)]);
  const tenants = new Map(profiles.map((raw) => [String(raw.id), compileTenant([profileOf(raw)])]));
  const judged: Judged[] = [];
  for (const example of examples) {
    const tenant = tenants.get(example.profileId ?? '') ?? fallback;
    const [compiled] = tenant.profiles;
    if (compiled === undefined) continue;
    const words = readPost({ ...example.facts, text: example.text, ageMs: AGE_MS }, encoder !== null);
    const hits = tenant.match(words.tokens).get(0) ?? [];
    const reading = await addMeaning(words, [{ compiled, hits }], { encoder });
    const { score, thresholds } = scorePost(reading, compiled, hits);
    judged.push({ example, score, predicted: classify(score, thresholds), type: reading.type });
  }
  return judged;
}
