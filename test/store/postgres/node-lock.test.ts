import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIds } from '../../../src/lib/ids.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { defaultProfile } from '../../../src/model/icp.ts';
import { observedPostSchema } from '../../../src/model/signal.ts';
import { observePosts } from '../../../src/signals/intake.ts';
import { createMatchers } from '../../../src/signals/matchers.ts';
import { connect } from '../../../src/store/postgres/connection.ts';
import { createNodeLock } from '../../../src/store/postgres/node-lock.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { aTenant } from '../../support/store.ts';

describe.skipIf(mayLackPostgres())('a lock between nodes', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function openLocks() {
    const config = await server.createDatabase();
    const clock = createManualClock();
    const connections = [await connect(config), await connect(config)] as const;
    onTestFinished(async () => {
      for (const db of connections) await db.close();
    });
    return { clock, connections, locks: connections.map((db) => createNodeLock(db, clock)) };
  }

  test('is held by one node at a time, and by none that is gone', async () => {
    const { clock, connections, locks } = await openLocks();
    const [first, second] = locks;
    const release = await first?.take('ten_a', ['x', 'y']);
    await (await second?.take('ten_b', ['x']))?.();
    const taking = second?.take('ten_a', ['y', 'z']).then((end) => end);
    await setTimeout(50);
    await release?.();
    clock.advance(50);
    const releaseSecond = await taking;
    const waiting = first?.take('ten_a', ['z']);
    await connections[1].close();
    await setTimeout(50);
    clock.advance(50);
    await (await waiting)?.();
    await releaseSecond?.();
  });

  test('is not waited for without an end, and nothing is held then', async () => {
    const { clock, locks } = await openLocks();
    const [first, second] = locks;
    const release = await first?.take('ten_a', ['x']);
    const refused = expect(second?.take('ten_a', ['x', 'y'])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (let i = 0; i < 2; i++) {
      await setTimeout(50);
      clock.advance(30_000);
    }
    await refused;
    await (await first?.take('ten_a', ['y']))?.();
    await release?.();
  });

  test('of two edits of a post on two nodes, one determines the texts of all its signals', async () => {
    const config = await server.createDatabase();
    const open = async () => {
      const store = await openPostgresStore({ config, clock: systemClock });
      onTestFinished(store.close);
      return store;
    };
    const [one, other] = [await open(), await open()];
    await one.createTenant(aTenant('ten_a'));
    for (let n = 0; n < 6; n++) {
      const thresholds = { hot: 99, warm: 1 };
      const profile = { ...defaultProfile(`icp_${n}`, 'ten_a', 0), name: `P${n}`, thresholds };
      await one.createProfile(profile, 1_000, 1_000);
    }
    const long = 'We are looking for a new booking system this month. Budget is $5k. '.padEnd(
      20_000,
      'and more ',
    );
    const observe = (store: Store, text: string) =>
      observePosts(
        {
          ...{ store, matchers: createMatchers(store), clock: systemClock },
          ...{ newId: createIds(systemClock, systemRandom), baseUrl: 'https://sp.example' },
        },
        'ten_a',
        [
          observedPostSchema.parse({
            platform: { name: 'Reddit' },
            external_id: 'x1',
            text: `${text} ${long}`.slice(0, 20_000),
          }),
        ],
      );
    await observe(one, 'First');
    // Each edit is a commit of its own; the other node's come in between.
    const slow = (store: Store, ms: number): Store => ({
      ...store,
      editSignals: async (edits) => {
        await setTimeout(ms);
        return store.editSignals(edits);
      },
    });
    for (const [ms, otherMs] of [
      [25, 1],
      [1, 25],
      [10, 11],
    ] as const) {
      const texts = [`One ${ms}`, `Other ${ms}`] as const;
      await Promise.all([observe(slow(one, ms), texts[0]), observe(slow(other, otherMs), texts[1])]);
      const outdated = texts.map(async (text) => {
        const post = { tenantId: 'ten_a', platform: 'reddit', shownId: 'x1', externalId: 'x1' };
        return (await one.findOutdatedSignals({ ...post, text: `${text} ${long}`.slice(0, 20_000) })).length;
      });
      expect((await Promise.all(outdated)).sort()).toEqual([0, 6]);
    }
  });
});
