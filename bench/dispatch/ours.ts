import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDispatcher } from '../../src/dispatcher/dispatcher.ts';
import { prepareEngine } from '../../src/engine.ts';
import { TEST_CA } from '../../test/dispatcher/tls-fixture.ts';
import { percentile } from '../report.ts';
import { countOutcomes, makeTenant, openParts, queueUp, quietLog } from './parts.ts';
import { type Measured, peakRssMiB, type Round, WARM_UP } from './setting.ts';

// Our side: the whole dispatcher on a database file with FULL durability, a new one for each round.
prepareEngine(); // as the server does
process.on('message', (round: Round) => {
  void run(round).then((measured) => process.send?.(measured));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function run(round: Round): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  try {
    return await measure(round, join(folder, 'signalpost.db'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(round: Round, file: string): Promise<Measured> {
  const deps = await openParts({ file });
  const counter = countOutcomes(deps.store);
  const tenant = await makeTenant(deps, round);
  const dispatcher = createDispatcher(
    { ...deps, store: counter.store, localAddress: null, log: quietLog() },
    { ca: TEST_CA },
  );

  const warmedUp = counter.after(WARM_UP);
  const lanes = await queueUp(deps, tenant, round.urls.length, { from: 0, deliveries: WARM_UP });
  await dispatcher.start();
  await warmedUp;

  // The dispatcher is not notified of these until all are stored, and its polling finds none. Its connections stay open,
  // like those of the bare loop.
  counter.hide();
  const done = counter.after(round.deliveries);
  await queueUp(deps, tenant, round.urls.length, { from: WARM_UP, deliveries: round.deliveries });
  counter.durations.length = 0;
  const started = performance.now();
  dispatcher.nudge(lanes);
  await done;
  const seconds = (performance.now() - started) / 1000;
  await dispatcher.stop(30_000);
  await deps.store.close();
  return {
    perSecond: round.deliveries / seconds,
    p50Ms: percentile(counter.durations, 0.5),
    p99Ms: percentile(counter.durations, 0.99),
    peakRssMiB: peakRssMiB(),
  };
}
