import { expect, test } from 'vitest';
import { describeFinding, fuzz } from './run.ts';

/** The same each time, so that a run that passed passes again; `npm run fuzz` looks further. */
const SEED = 20_261_121;
const REQUESTS = 1_000;

test('no request brings about a 5xx, a hang, or an answer that is not as described', {
  timeout: 120_000,
}, async () => {
  console.log(`fuzz: seed ${SEED}, ${REQUESTS} requests`);
  const { findings, statuses } = await fuzz({ requests: REQUESTS, seed: SEED });
  expect(findings.map(describeFinding).join('\n\n')).toBe('');
  // A fuzzer that is refused at the door finds nothing.
  expect((statuses[200] ?? 0) + (statuses[201] ?? 0)).toBeGreaterThan(REQUESTS / 10);
});
