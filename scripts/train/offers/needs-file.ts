import { NEED_STEPS } from '../../../src/signals/needs.ts';

/** The file that `src/signals/needs.ts` reads, from unit vectors. */
export function bytesOf(needs: readonly { text: Float32Array; offers: Float32Array }[]): Uint8Array {
  const numbers = [...needs.flatMap(({ text }) => [...text]), ...needs.flatMap(({ offers }) => [...offers])];
  return new Uint8Array(
    Int8Array.from(numbers, (each) => Math.max(-127, Math.min(127, Math.round(each * NEED_STEPS)))).buffer,
  );
}
