import type { Odds } from '../../src/signals/judge.ts';
import { WORDING_PLACES } from '../../src/signals/wording.ts';

/** The file that `src/signals/wording.ts` reads, from weights by place, and what an average post comes to. */
export function bytesOf(
  { hot, warm }: { hot: Float64Array; warm: Float64Array },
  centre: Odds,
): Uint8Array<ArrayBuffer> {
  const both = [hot, warm].map((weights) => weights.subarray(0, WORDING_PLACES));
  const steps = both.map((own) => own.reduce((most, weight) => Math.max(most, Math.abs(weight)), 1e-6) / 127);
  const header = Float32Array.from([...steps, centre.hot, centre.warm]);
  const rounded = both.map((own, i) => Int8Array.from(own, (weight) => Math.round(weight / (steps[i] ?? 1))));
  return Uint8Array.from([header, ...rounded].flatMap((part) => [...new Uint8Array(part.buffer)]));
}
