import { parseArgs } from 'node:util';
import { benchBacklog } from './backlog/bench.ts';
import { benchDispatch } from './dispatch/bench.ts';
import { benchFlood } from './flood/bench.ts';
import { type Figure, report } from './report.ts';
import { benchSignals } from './signals/bench.ts';
import { benchHealth, benchPage } from './site/bench.ts';

const BENCHES: Record<string, () => Promise<Figure[]>> = {
  backlog: benchBacklog,
  dispatch: benchDispatch,
  flood: benchFlood,
  health: benchHealth,
  page: benchPage,
  signals: benchSignals,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(
    `There is no benchmark "${unknown.join('", "')}". There are: ${Object.keys(BENCHES).join(', ')}.`,
  );
  process.exit(64);
}
for (const name of positionals.length > 0 ? positionals : Object.keys(BENCHES)) {
  const run = BENCHES[name];
  if (run) report(await run(), values.json);
}
