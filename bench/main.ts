import { cpus, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { readArguments, refuseUsage } from '../scripts/arguments.ts';
import { benchBacklog } from './backlog/bench.ts';
import { benchDashboard } from './dashboard/bench.ts';
import { benchDispatch } from './dispatch/bench.ts';
import { benchDispatchOnPostgres } from './dispatch/postgres.ts';
import { benchEncode } from './encode/bench.ts';
import { benchFlood } from './flood/bench.ts';
import { benchLanes } from './lanes/bench.ts';
import { benchMatch } from './match/bench.ts';
import { benchOverload } from './overload/bench.ts';
import { benchManyTenants } from './overload/tenants.ts';
import { type Figure, medianOf, report, table } from './report.ts';
import { benchSignals } from './signals/bench.ts';
import { benchHealth, benchPage } from './site/bench.ts';
import { benchSources } from './sources/bench.ts';
import { benchStart } from './start/bench.ts';
import { benchTenants } from './tenants/bench.ts';
import { benchTokens } from './tokens/bench.ts';
import { benchFanout } from './way/fanout.ts';
import { benchFanoutOnPostgres } from './way/fanout-postgres.ts';
import { benchLatency } from './way/latency.ts';
import { benchNeighbours } from './way/neighbours.ts';

/**
 * `profileDir`: the folder for V8's profiles, for benchmarks that can also show where our server's time went. `posts`: a file of
 * real posts, one JSON object with `title` and `text` per line, for the benchmark that supports them.
 */
const BENCHES: Record<string, (profileDir?: string, posts?: string) => Promise<Figure[]>> = {
  backlog: benchBacklog,
  dashboard: benchDashboard,
  dispatch: benchDispatch,
  encode: (_profileDir, posts) => benchEncode(posts),
  fanout: benchFanout,
  flood: benchFlood,
  health: benchHealth,
  match: benchMatch,
  lanes: benchLanes,
  latency: benchLatency,
  neighbours: benchNeighbours,
  overload: benchOverload,
  'overload-tenants': benchManyTenants,
  page: benchPage,
  signals: benchSignals,
  sources: benchSources,
  start: benchStart,
  tenants: benchTenants,
  tokens: benchTokens,
};

/** Benchmarks that also measure nodes on PostgreSQL, with `--store postgres`. */
const ON_POSTGRES: typeof BENCHES = {
  dispatch: benchDispatchOnPostgres,
  fanout: benchFanoutOnPostgres,
};

/**
 * The runs of benchmarks that measure once per run, so that their figures are also medians of five; the others have five or more
 * rounds in a run. `sources` takes five minutes, and its figures are based on thousands of reads: one run.
 */
const RUNS: Record<string, number> = { encode: 5, flood: 5, overload: 5, tenants: 5 };

const USAGE =
  'Usage: npm run bench -- [NAME…] [--runs N] [--store sqlite|postgres] [--json] [--profile FOLDER] [--posts FILE]\n' +
  `Benchmarks: ${Object.keys(BENCHES).join(', ')}\n` +
  `With --store postgres: ${Object.keys(ON_POSTGRES).join(', ')}`;

const { positionals, values } = readArguments(
  {
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      posts: { type: 'string' },
      profile: { type: 'string' },
      runs: { type: 'string' },
      store: { type: 'string', default: 'sqlite' },
    },
  },
  USAGE,
);
const benches = new Map([
  ['sqlite', BENCHES],
  ['postgres', ON_POSTGRES],
]).get(values.store);
const unknown = positionals.filter((name) => !(name in (benches ?? {})));
const runs = values.runs === undefined ? null : Number(values.runs);
if (benches === undefined || unknown.length > 0 || (runs !== null && !(Number.isInteger(runs) && runs > 0))) {
  if (unknown.length > 0) console.error(`There is no benchmark "${unknown.join('", "')}".`);
  refuseUsage(USAGE);
}
const [profileDir, posts] = [values.profile, values.posts].map((path) => path && resolve(path));
const all: Figure[] = [];
for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) {
  const run = benches[name];
  if (run === undefined) continue;
  const figures: Figure[][] = [];
  const started = performance.now();
  while (figures.length < (runs ?? RUNS[name] ?? 1)) figures.push(await run(profileDir, posts));
  console.error(`${name}: ${Math.round((performance.now() - started) / 1_000)} s`);
  const merged = medianOf(figures);
  report(merged, values.json);
  all.push(...merged);
}
const [{ model = 'unknown' } = {}] = cpus();
const machine = `${cpus().length} × ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
if (!values.json && all.length > 1) console.log(`\n${machine}\n\n${table(all)}`);
