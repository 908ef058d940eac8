import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { describeFinding, fuzz } from './run.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(randomInt(2 ** 31 - 1)) },
    only: { type: 'string', default: '.' },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed);
if (!(requests > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run fuzz -- [--requests N] [--seed N] [--only PATTERN]');
  process.exit(64);
}

console.log(`seed ${seed}, ${requests} requests`);
const started = performance.now();
const { findings, statuses, unreached } = await fuzz({
  requests,
  seed,
  only: new RegExp(values.only),
  progress: (done) => {
    if (done % 5_000 === 0) console.log(`${done} sent`);
  },
});
for (const finding of findings) console.log(`\n${describeFinding(finding)}`);
const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
console.log(
  `\n${requests} requests in ${Math.round((performance.now() - started) / 1_000)} s (${counts.join(', ')})`,
);
if (unreached.length > 0) console.log(`never succeeded: ${unreached.join(', ')}`);
console.log(`${findings.length} findings; seed ${seed}`);
process.exitCode = findings.length === 0 ? 0 : 1;
