import { createDispatcher, type Dispatcher } from '../../src/dispatcher/dispatcher.ts';
import { prepareEngine } from '../../src/engine.ts';
import { TEST_CA } from '../../test/dispatcher/tls-fixture.ts';
import { sharedNow } from '../way/setting.ts';
import { countOutcomes, makeTenant, openParts, type Parts, type Place, queueUp, quietLog } from './parts.ts';

/** Orders for a node, one after the other. */
export type NodeOrder =
  | { do: 'fill'; place: Place; urls: string[]; deliveries: number }
  | { do: 'open'; place: Place }
  | { do: 'start' }
  | { do: 'count' }
  | { do: 'close' };

/** The number of deliveries it has recorded, and the time of the last one. */
export interface NodeCount {
  count: number;
  lastAt: number;
}

// A dispatcher on a store that it may share with others.
prepareEngine();
let opened: { deps: Parts; dispatcher: Dispatcher; counted: NodeCount } | null = null;

process.on('message', (order: NodeOrder) => {
  follow(order).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.(process.pid);

async function follow(order: NodeOrder): Promise<unknown> {
  switch (order.do) {
    case 'fill': {
      const deps = await openParts(order.place);
      const tenant = await makeTenant(deps, order);
      await queueUp(deps, tenant, order.urls.length, { from: 0, deliveries: order.deliveries });
      await deps.store.close();
      return 'filled';
    }
    case 'open': {
      const deps = await openParts(order.place);
      const counted: NodeCount = { count: 0, lastAt: 0 };
      const counter = countOutcomes(deps.store, () => {
        counted.count++;
        counted.lastAt = sharedNow();
      });
      const dispatcher = createDispatcher(
        { ...deps, store: counter.store, localAddress: null, log: quietLog() },
        { ca: TEST_CA },
      );
      opened = { deps, dispatcher, counted };
      return 'open';
    }
    case 'start':
      await opened?.dispatcher.start();
      return 'started';
    case 'count':
      return opened?.counted;
    case 'close':
      await opened?.dispatcher.stop(30_000);
      await opened?.deps.store.close();
      opened = null;
      return 'closed';
  }
}
