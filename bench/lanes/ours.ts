import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { createDispatcher } from '../../src/dispatcher/dispatcher.ts';
import { prepareEngine } from '../../src/engine.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant } from '../../test/support/store.ts';
import { countOutcomes, makeTenant, openParts, type Parts, queueUp, quietLog } from '../dispatch/parts.ts';

/** A round: deliveries to `urls`, with `waiting` other endpoints whose next retry is an hour ahead. */
export interface LanesRound {
  urls: string[];
  deliveries: number;
  waiting: number;
}

const IDLE_TENANT = 'ten_waiting';
const AT_ONCE = 1_000;

prepareEngine(); // as the server does
process.on('message', (round: LanesRound) => {
  void run(round).then((measured) => process.send?.(measured));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

/** Microseconds of CPU time per delivery. */
async function run({ urls, deliveries, waiting }: LanesRound): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const file = join(folder, 'signalpost.db');
  const deps = await openParts({ file });
  try {
    await makeWaiting(deps, file, waiting);
    const tenant = await makeTenant(deps, { urls });
    const counter = countOutcomes(deps.store);
    const { store } = counter;
    const dispatcher = createDispatcher({ ...deps, store, localAddress: null, log: quietLog() });
    await dispatcher.start();
    const lanes = await queueUp(deps, tenant, urls.length, { from: 0, deliveries });
    const done = counter.after(deliveries);
    const before = process.cpuUsage();
    dispatcher.nudge(lanes);
    await done;
    const { user, system } = process.cpuUsage(before);
    await dispatcher.stop(30_000);
    return (user + system) / deliveries;
  } finally {
    await deps.store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeWaiting({ store, clock }: Parts, file: string, waiting: number): Promise<void> {
  await store.createTenant(aTenant(IDLE_TENANT));
  const ids: string[] = [];
  while (ids.length < waiting) {
    const some = Array.from({ length: AT_ONCE }, () => anEndpoint(IDLE_TENANT));
    await Promise.all(some.map((endpoint) => store.createEndpoint(endpoint, null)));
    ids.push(...some.map(({ id }) => id));
  }
  await store.commitSignals([aSignal(IDLE_TENANT, { events: [aRoutedEvent(IDLE_TENANT, ids)] })]);
  const db = new Sqlite(file);
  db.prepare("UPDATE deliveries SET status = 'retrying', next_attempt_at = ?").run(clock.now() + 3_600_000);
  db.close();
}
