import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readArguments, refuseUsage } from '../arguments.ts';
import { type TotalQueue, totalQueue } from './check.ts';
import { call, type Poster, startPoster } from './client.ts';
import { FAULTS } from './faults.ts';
import { type Slope, soak } from './soak.ts';
import { createWorld, type World } from './world.ts';

/** The share of the time with steady load and no faults, in which slopes are measured. */
const SOAK_SHARE = 0.3;
/** The pause between two faults. */
const REST_MS = 3_000;
/** After this long without a delivery, no more are expected: the longest retry takes 33 s. */
const QUIET_MS = 60_000;

const USAGE =
  'Usage: npm run torture -- --minutes N [--store postgres [--nodes 3]] [--only PART-OF-A-NAME] [--json]\n' +
  `Faults: ${FAULTS.map(({ name }) => name).join(', ')}`;

const { values } = readArguments(
  {
    options: {
      minutes: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      store: { type: 'string', default: 'sqlite' },
      nodes: { type: 'string', default: '3' },
    },
  },
  USAGE,
);
const minutes = Number(values.minutes);
const faults = FAULTS.filter(({ name }) => values.only === undefined || name.includes(values.only));
const nodes = values.store === 'sqlite' ? 0 : Number(values.nodes);
const isStore =
  values.store === 'sqlite' || (values.store === 'postgres' && Number.isInteger(nodes) && nodes > 0);
if (!(minutes > 0) || faults.length === 0 || !isStore) {
  refuseUsage(USAGE);
}

const began = performance.now();
const say = (text: string) => console.error(`${((performance.now() - began) / 1_000).toFixed(1)} s  ${text}`);

/** Each fault in turn, the first round in their order. */
async function torture(world: World, until: number): Promise<void> {
  for (const fault of faults) {
    const why = fault.cannot(world);
    if (why !== null) say(`${fault.name}: skipped, because ${why}`);
  }
  const possible = faults.filter((fault) => fault.cannot(world) === null);
  for (let n = 0; performance.now() < until && possible.length > 0; n++) {
    const fault = possible[n % possible.length];
    if (fault === undefined) break;
    say(`${fault.name} …`);
    say(`${fault.name}: ${await fault.run(world)}`);
    await sleep(REST_MS);
  }
}

/** Ends all faults, and makes waiting deliveries due: those that do not arrive now never will. */
async function recover(world: World, poster: Poster): Promise<void> {
  const { receiver, paths, counted } = world;
  const { url } = world.victim;
  receiver.mood(paths, 'well');
  await poster.stop();
  const order = async (path: string) => {
    const response = await call(url, counted.key, path, {}).catch(() => null);
    if (response === null || !response.ok) say(`${path}: ${response?.status ?? 'no answer'}`);
  };
  // Pausing and resuming an endpoint makes all of its waiting deliveries due at once.
  for (const id of counted.webhooks) {
    await order(`/v1/webhooks/${id}/pause`);
    await order(`/v1/webhooks/${id}/resume`);
    await order(`/v1/webhooks/${id}/replay`);
  }
  const wanted = poster.accepted.size * paths.length;
  let [seen, since] = [-1, performance.now()];
  while (performance.now() - since < QUIET_MS) {
    const count = await receiver.count();
    if (count > seen) [seen, since] = [count, performance.now()];
    if (count >= wanted && performance.now() - since > 5_000) break;
    await sleep(500);
  }
}

function check(world: World, poster: Poster, delivered: [string, number][]): TotalQueue {
  const named = (urls: Set<string>) =>
    new Set([...urls].flatMap((url) => world.paths.map((path) => `${path} ${url}`)));
  const ours = delivered.filter(([name]) => name.startsWith('/counted/'));
  return totalQueue({
    attempted: named(poster.attempted),
    accepted: named(poster.accepted),
    delivered: new Map(ours),
  });
}

const world = await createWorld(nodes);
// However this ends, nothing is left running or mounted.
process.on('uncaughtException', (error) => {
  console.error(error);
  void world.end().finally(() => process.exit(70));
});
say(`the server's folder is ${world.dataDir}${world.ownDisk ? ', on a separate disk' : ''}`);
const poster = startPoster(
  world.nodes.map(({ url }) => url),
  world.counted.key,
  String(process.pid),
);
const span = minutes * 60_000;
await torture(world, performance.now() + span * (1 - SOAK_SHARE));
say('steady load …');
const slopes: Slope[] = await soak(world, (span * SOAK_SHARE) / 1_000);
say('recovering …');
await recover(world, poster);
const { delivered, forged } = await world.receiver.report();
const queue = check(world, poster, delivered);
const exitCodes = await Promise.all(world.nodes.map((node) => node.stop()));
const exitCode = exitCodes.find((code) => code !== 0) ?? 0;
const deaths = world.nodes.flatMap((node) => node.deaths);
const unwarned = world.nodes.reduce((sum, node) => sum + node.unwarned, 0);
await world.end();

const result = {
  minutes,
  ...(nodes > 0 && { nodes }),
  ...queue,
  lost: queue.lost.length,
  unexpected: queue.unexpected.length + forged.length,
  answers: Object.fromEntries(poster.answers),
  deaths,
  unwarned_second_servers: unwarned,
  exit_code: exitCode,
  slopes,
};
if (values.json) console.log(JSON.stringify(result));
else
  for (const [name, value] of Object.entries(result))
    console.log(`${name.padEnd(23)} ${typeof value === 'object' ? JSON.stringify(value) : value}`);
for (const name of queue.lost.slice(0, 10)) console.error(`lost: ${name}`);
for (const name of [...queue.unexpected, ...forged].slice(0, 10)) console.error(`unexpected: ${name}`);
const kept = result.lost === 0 && result.unexpected === 0;
const sound = kept && deaths.length === 0 && unwarned === 0 && exitCode === 0;
if (sound) rmSync(world.notes, { recursive: true, force: true });
else console.error(`The server's log: ${world.notes}/server.log`);
process.exit(sound ? 0 : 1);
