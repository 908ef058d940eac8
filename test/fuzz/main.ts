import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { BUDGET_MS, describeMeasured, HEAD, hostileCases, measureHostile } from './hostile/run.ts';
import { describeFinding, fuzz } from './run.ts';

const USAGE =
  'usage: npm run fuzz -- [--requests N] [--seed N] [--only PATTERN]\n       npm run fuzz -- --hostile [--encoder] [--requests N] [--seed N] [--only PATTERN]';

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        hostile: { type: 'boolean', default: false },
        encoder: { type: 'boolean', default: false },
        requests: { type: 'string' },
        seed: { type: 'string', default: String(randomInt(2 ** 31 - 1)) },
        only: { type: 'string', default: '.' },
      },
    });
    new RegExp(values.only); // throws if it is none
    return values;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return refuse();
  }
}

function refuse(): never {
  console.error(USAGE);
  process.exit(64);
}

const values = readArguments();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const seed = Number(values.seed);
const requests = Number(values.requests ?? 20_000);
if (!(requests > 0) || !Number.isInteger(seed)) refuse();
const started = performance.now();
const seconds = () => Math.round((performance.now() - started) / 1_000);
process.exitCode = (await (values.hostile ? beHostile() : sendRequests())) ? 0 : 1;

async function sendRequests(): Promise<boolean> {
  console.log(`seed ${seed}, ${requests} requests`);
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
  console.log(`\n${requests} requests in ${seconds()} s (${counts.join(', ')})`);
  if (unreached.length > 0) console.log(`never succeeded: ${unreached.join(', ')}`);
  console.log(`${findings.length} findings; seed ${seed}`);
  return findings.length === 0;
}

/** Every hostile input whose name matches; with `--requests`, that many of them, chosen by the seed. */
async function beHostile(): Promise<boolean> {
  const only = new RegExp(values.only, 'i');
  const all = hostileCases().filter(({ name }) => only.test(name));
  const count = values.requests === undefined ? all.length : Math.min(requests, all.length);
  const drawn = fc.shuffledSubarray(all, { minLength: count, maxLength: count });
  const cases = count === all.length ? all : (fc.sample(drawn, { numRuns: 1, seed })[0] ?? []);
  console.log(HEAD);
  const measured = await measureHostile({
    cases,
    env: values.encoder ? { SIGNAL_ENCODER: 'auto' } : {},
    told: (one) => console.log(describeMeasured(one)),
  });
  const failed = measured.filter(({ fault }) => fault !== '');
  if (failed.length > 0) console.log(`\nThese fail (another caller may wait ${BUDGET_MS} ms):\n${HEAD}`);
  for (const one of failed) console.log(describeMeasured(one));
  // Rate-limited inputs were not processed: beyond the log-in's own limits, the run tests nothing.
  const limited = measured.filter(({ outcome }) => outcome === '429').length;
  console.log(`${limited} were refused by a limit`);
  console.log(`${measured.length} inputs in ${seconds()} s, ${failed.length} fail; seed ${seed}`);
  return failed.length === 0;
}
