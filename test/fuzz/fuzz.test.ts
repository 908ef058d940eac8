import { expect, test } from 'vitest';
import { describeFinding, fuzz } from './run.ts';

/** A fixed seed, so that results are reproducible; `npm run fuzz` explores further. */
const SEED = 20_261_121;
const REQUESTS = 1_000;

test('no request causes a 5xx, a hang, or a response that does not match the description', {
  timeout: 120_000,
}, async () => {
  console.log(`fuzz: seed ${SEED}, ${REQUESTS} requests`);
  const { findings, statuses } = await fuzz({ requests: REQUESTS, seed: SEED });
  expect(findings.map(describeFinding).join('\n\n')).toBe('');
  // A fuzzer whose requests are all rejected up front finds nothing.
  expect((statuses[200] ?? 0) + (statuses[201] ?? 0)).toBeGreaterThan(REQUESTS / 10);
});
