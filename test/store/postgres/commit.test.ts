import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StoredOutcome } from '../../../src/store/changes/deliveries.ts';
import type { Changes } from '../../../src/store/changes.ts';
import { createLaneClaims } from '../../../src/store/postgres/claim-lanes.ts';
import { createCommitter } from '../../../src/store/postgres/commit.ts';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { aKey, anEndpoint, aRoutedEvent, aSignal, aTenant, T0 } from '../../support/store.ts';

type AnyCall = { [K in keyof Changes]: [K, Parameters<Changes[K]>] }[keyof Changes];

describe.skipIf(mayLackPostgres())('two nodes on one PostgreSQL database', () => {
  let server: PostgresServer;
  let config: Awaited<ReturnType<PostgresServer['createDatabase']>>;
  let connections: Connection[] = [];
  let first: (...batch: AnyCall[]) => Promise<unknown>;
  let second: typeof first;

  async function openNode(): Promise<typeof first> {
    const db = await connect(config);
    connections.push(db);
    const commit = createCommitter(db);
    return async (...batch) => {
      const { values, failed } = await commit(batch as Parameters<typeof commit>[0]);
      return { values, failed: failed.map(({ index, error }) => [index, String(error)]) };
    };
  }

  async function select(sql: string, db = connections[0]): Promise<unknown[]> {
    const { rows } = (await db?.ask({ name: '', text: sql, members: null }, [])) ?? { rows: [] };
    return rows.map((row) => (row.length === 1 ? row[0] : row));
  }

  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    await Promise.all(connections.map((db) => db.close().catch(() => {})));
    connections = [];
    config = await server.createDatabase();
    [first, second] = [await openNode(), await openNode()];
    const [db] = connections;
    if (db !== undefined) await migrate(db);
    await first(
      ['createTenant', [aTenant('ten_a')]],
      ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_a' }), null]],
      ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_b' }), null]],
    );
  });
  afterAll(async () => {
    await Promise.all(connections.map((db) => db.close().catch(() => {})));
    await server[Symbol.asyncDispose]();
  });

  test('a failed change does not affect the others in its batch', async () => {
    const made = await first(
      ['createKey', [aKey('ten_a', { id: 'key_1' }), 9]],
      ['createTenant', [aTenant('ten_a')]],
      ['createKey', [aKey('ten_a', { id: 'key_2' }), 9]],
    );
    expect(made).toMatchObject({
      values: [true, undefined, true],
      failed: [[1, expect.stringContaining('duplicate')]],
    });
    expect(await select("SELECT id FROM api_keys WHERE id LIKE 'key_%' ORDER BY id")).toEqual([
      'key_1',
      'key_2',
      'key_ten_a',
    ]);
  });

  test('do not jointly exceed a limit', async () => {
    const batchOf = (node: string): AnyCall[] =>
      [1, 2, 3].map((n) => ['createKey', [aKey('ten_a', { id: `key_${node}${n}` }), 4]]);
    await Promise.all([first(...batchOf('a')), second(...batchOf('b'))]);
    expect(await select('SELECT count(*) FROM api_keys')).toEqual([4]);
  });

  test('store a post only once if both receive it at the same time', async () => {
    for (let round = 0; round < 10; round++) {
      const post = (id: string): AnyCall => [
        'commitSignals',
        [[aSignal('ten_a', { id: `sig_${id}${round}`, externalId: `post ${round}` })]],
      ];
      await Promise.all([first(post('a')), second(post('b'))]);
    }
    expect(await select('SELECT count(*), count(DISTINCT external_id) FROM signals')).toEqual([[10, 10]]);
    expect(await select('SELECT signals FROM stored_rows')).toEqual([10]);
  });

  test('number the rows of a tenant in commit order', async () => {
    const stored = (node: string, n: number): AnyCall => [
      'commitSignals',
      [[aSignal('ten_a', { id: `sig_${node}${n}`, externalId: `${node}${n}`, timestamp: T0 + n })]],
    ];
    const seen: number[] = [];
    for (let n = 0; n < 20; n++) {
      await Promise.all([first(stored('a', n)), second(stored('b', n))]);
      const [newest] = await select('SELECT max(position) FROM signal_positions');
      seen.push(Number(newest));
      const [behind] = await select(
        `SELECT count(*) FROM signal_positions WHERE position > ${seen.at(-2) ?? 0}`,
      );
      expect(behind).toBe(2);
    }
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  test('claim an endpoint in turn, each delivery once', async () => {
    const events = [1, 2, 3].map((n) =>
      aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [`dlv_${n}`], createdAt: T0 }),
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const claim = (node: string): AnyCall => [
      'claimLanes',
      [
        {
          lanes: [{ endpointId: 'whk_a', limit: 10, knownVersion: 1, held: '{}' }],
          ...{ now: T0, leaseUntil: T0 + 60_000, leaseToken: `lease_${node}`, process: node },
        },
      ],
    ];
    const claims = await Promise.all([first(claim('a')), second(claim('b'))]);
    const given = claims.map((claimed) => [...JSON.stringify(claimed).matchAll(/dlv_\d/g)].map(([id]) => id));
    expect(given.toSorted((a, b) => a.length - b.length)).toEqual([[], ['dlv_1', 'dlv_2', 'dlv_3']]);
  });

  test('a claim skips an endpoint whose lease another node is taking, and retries it soon', async () => {
    const events = ['whk_a', 'whk_b'].map((endpointId) =>
      aRoutedEvent('ten_a', [endpointId], { deliveryIds: [`dlv_${endpointId}`], createdAt: T0 }),
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const claim = (node: string, now: number, endpointIds = ['whk_a', 'whk_b']): AnyCall => [
      'claimLanes',
      [
        {
          lanes: endpointIds.map((endpointId) => ({ endpointId, limit: 9, knownVersion: 1, held: '{}' })),
          ...{ now, leaseUntil: now + 60_000, leaseToken: `lease_${node}`, process: node },
        },
      ],
    ];
    await first(claim('a', T0));
    const now = T0 + 60_000;
    const other = await connect(config);
    connections.push(other);
    let claimed: unknown;
    await other.transact(async () => {
      await select("SELECT 1 FROM lane_leases WHERE endpoint_id = 'whk_a' FOR UPDATE", other);
      claimed = await second(claim('b', now));
    });
    const given = { list: '["dlv_whk_b","signal.detected",1,0,41]' };
    expect(claimed).toMatchObject({
      values: [
        [
          { endpointId: 'whk_a', deliveries: null, nextDueAt: now + 20 },
          { endpointId: 'whk_b', deliveries: given, takenFrom: '{"dlv_whk_b":1}' },
        ],
      ],
    });
    // The node that lost it learns when the other node's lease ends.
    expect(await first(claim('a', now, ['whk_b']))).toMatchObject({
      values: [[{ deliveries: null, nextDueAt: now + 60_000 }]],
    });
    expect(await second(claim('b', now, ['whk_a']))).toMatchObject({
      values: [[{ takenFrom: '{"dlv_whk_a":1}' }]],
    });
  });

  test('a claim does not wait for the transaction in which another node takes a free lease', async () => {
    const lanes = [{ endpointId: 'whk_a', limit: 9, knownVersion: 1, held: '{}' }];
    const claim = (node: string) => ({
      ...{ lanes, now: T0, leaseUntil: T0 + 60_000, leaseToken: `lease_${node}`, process: node },
    });
    const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'], createdAt: T0 })];
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const other = await connect(config);
    connections.push(other);
    const claimLanes = createLaneClaims(other, () => Promise.reject(new Error('not in order')));
    await other.transact(async () => {
      expect(await claimLanes(claim('a'))).toMatchObject([{ deliveries: { list: expect.any(String) } }]);
      expect(await second(['claimLanes', [claim('b')]])).toMatchObject({
        values: [[{ endpointId: 'whk_a', deliveries: null, nextDueAt: T0 + 20 }]],
      });
    });
    expect(await second(['claimLanes', [claim('b')]])).toMatchObject({
      values: [[{ deliveries: null, nextDueAt: T0 + 60_000 }]],
    });
  });

  test('the later deliveries of an event take as many round trips, whatever their number', async () => {
    const [db] = connections;
    if (db === undefined) throw new Error('no connection');
    let asks = 0;
    const ask: Connection['ask'] = (...asked) => {
      asks++;
      return db.ask(...asked);
    };
    const commit = createCommitter({ ...db, ask });
    const takenBy = async (count: number) => {
      const ids = Array.from({ length: count }, (_, n) => [`dlv_${count}_${n}`, 'whk_a']).flat();
      const bundle = { body: '{}', status: 'pending' as const, deliveries: JSON.stringify(ids) };
      const remainders = [{ bundles: [bundle], batched: [] }];
      const event = { ...aRoutedEvent('ten_a', []), remainders };
      await first(['commitNotices', [{ tenantId: 'ten_a', ids: [], events: [event] }]]);
      asks = 0;
      const part = { tenantId: 'ten_a', eventId: event.event.id, part: 0 };
      expect(await commit([['storeRemainder', [part]]])).toMatchObject({ failed: [] });
      return asks;
    };
    expect(await takenBy(100)).toBe(await takenBy(1));
    const places = 'SELECT delivery_id FROM late_deliveries ORDER BY position';
    expect(await select(places)).toEqual([
      ...Array.from({ length: 100 }, (_, n) => `dlv_100_${n}`),
      'dlv_1_0',
    ]);
  });

  test('share endpoints without a lease, so that no node is left with the whole backlog', async () => {
    const endpointIds = Array.from({ length: 12 }, (_, n) => `whk_${String(n).padStart(2, '0')}`);
    const events = [
      aRoutedEvent('ten_a', endpointIds, { deliveryIds: endpointIds.map((id) => `dlv_${id}`) }),
    ];
    await first(
      ...endpointIds.map((id): AnyCall => ['createEndpoint', [anEndpoint('ten_a', { id }), null]]),
      ['beat', ['a', T0]],
      ['beat', ['b', T0]],
      ['beat', ['long silent', T0 - 60_000]],
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const takenBy = async (commit: typeof first, node: string) => {
      await commit([
        'claimLanes',
        [
          {
            lanes: endpointIds.map((endpointId) => ({ endpointId, limit: 9, knownVersion: 1, held: '{}' })),
            ...{ now: T0, leaseUntil: T0 + 60_000, leaseToken: `lease_${node}`, process: node },
          },
        ],
      ]);
      return select(`SELECT count(*) FROM lane_leases WHERE process = '${node}'`);
    };
    expect(await takenBy(first, 'a')).toEqual([6]);
    expect(await takenBy(second, 'b')).toEqual([3]);
    expect(await takenBy(first, 'a')).toEqual([8]);
    expect(await takenBy(second, 'b')).toEqual([4]);
    expect(await select('SELECT count(*) FROM lane_leases')).toEqual([12]);
  });

  test('a claim stops at large bodies, leaving the rest due', async () => {
    const body = 'x'.repeat(2_200_000);
    const events = ['whk_a', 'whk_b'].flatMap((endpointId) =>
      [1, 2].map((n) => {
        const routed = aRoutedEvent('ten_a', [endpointId], {
          deliveryIds: [`dlv_${endpointId}${n}`],
          createdAt: T0,
        });
        return { ...routed, deliveries: routed.deliveries.map((delivery) => ({ ...delivery, body })) };
      }),
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const claimed = await first([
      'claimLanes',
      [
        {
          lanes: ['whk_a', 'whk_b'].map((endpointId) => ({
            ...{ endpointId, limit: 9, knownVersion: 1, held: '{}' },
          })),
          ...{ now: T0, leaseUntil: T0 + 60_000, leaseToken: 'lease_a', process: 'a' },
        },
      ],
    ]);
    expect(claimed).toMatchObject({
      values: [
        [
          { endpointId: 'whk_a', deliveries: { bodies: { length: 4_400_000 } }, nextDueAt: null },
          { endpointId: 'whk_b', deliveries: null, nextDueAt: T0 },
        ],
      ],
    });
    expect(await select('SELECT endpoint_id FROM lane_leases')).toEqual(['whk_a']);
  });

  test('outcomes in one batch use one statement, and count as if recorded separately', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => `dlv_${n}`);
    const events = ids.map((id, n) =>
      aRoutedEvent('ten_a', [n % 2 === 0 ? 'whk_a' : 'whk_b'], { deliveryIds: [id], createdAt: T0 }),
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const db = await connect(config);
    connections.push(db);
    let [underWay, most] = [0, 0];
    const commit = createCommitter({
      ...db,
      async ask(...terms) {
        most = Math.max(most, ++underWay);
        try {
          return await db.ask(...terms);
        } finally {
          underWay--;
        }
      },
    });
    const delivered = (id: string, attempt = `att_${id}`): AnyCall => [
      'recordDelivered',
      [id, attempt, 1, T0, 3, '{}', ids.indexOf(id) % 2 === 0 ? 'whk_a' : 'whk_b'],
    ];
    // The last one is for a delivery ended by an earlier outcome.
    const batch = [...ids.map((id) => delivered(id)), delivered('dlv_0', 'att_late')];
    expect(await commit(batch as Parameters<typeof commit>[0])).toEqual({
      values: [...ids.map(() => true), false],
      failed: [],
    });
    // The late one is a second statement.
    expect(most).toBe(2);
    expect(await select("SELECT count(*) FROM deliveries WHERE status = 'delivered'")).toEqual([20]);
    expect(await select('SELECT sum(count)::int FROM endpoint_hours')).toEqual([20]);

    // A failed one does not affect the others.
    const again = await first(delivered('dlv_1', 'att_new'), delivered('dlv_2', 'att_dlv_2'));
    expect(again).toMatchObject({
      values: [false, undefined],
      failed: [[1, expect.stringContaining('duplicate')]],
    });
  });

  test('both succeed even if each has locked what the other needs', async () => {
    const deliveries = (node: string) => [1, 2, 3, 4].map((n) => `dlv_${node}${n}`);
    const events = ['a', 'b'].flatMap((node) =>
      deliveries(node).map((id) =>
        aRoutedEvent('ten_a', [`whk_${node}`], { deliveryIds: [id], createdAt: T0 }),
      ),
    );
    await first(['commitSignals', [[aSignal('ten_a', { id: 'sig_1', events })]]]);
    const failure = (node: string, n: number): AnyCall => [
      'recordAttempt',
      [aFailure(`whk_${node}`, `dlv_${node}${n}`)],
    ];
    for (const n of [1, 3]) {
      const results = await Promise.all([
        first(failure('a', n), failure('b', n)),
        second(failure('b', n + 1), failure('a', n + 1)),
      ]);
      for (const result of results) expect(result).toEqual({ values: [true, true], failed: [] });
    }
    expect(await select('SELECT consecutive_failures FROM webhook_endpoints')).toEqual([4, 4]);
  });

  test('reports a stopped server as unavailable', async () => {
    const admin = await connect({ ...config, database: 'postgres' });
    connections.push(admin);
    await select(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname LIKE 'test%'",
      admin,
    );
    await select(`ALTER DATABASE ${config.database} RENAME TO elsewhere`, admin);
    expect(await second(['createKey', [aKey('ten_a', { id: 'key_1' }), 9]])).toMatchObject({
      failed: [[0, expect.stringContaining('The storage cannot be reached right now.')]],
    });
    await select(`ALTER DATABASE elsewhere RENAME TO ${config.database}`, admin);
    expect(await second(['createKey', [aKey('ten_a', { id: 'key_1' }), 9]])).toMatchObject({
      values: [true],
    });
    expect(await first(['createKey', [aKey('ten_a', { id: 'key_2' }), 9]])).toMatchObject({ values: [true] });
  });
});

function aFailure(endpointId: string, deliveryId: string): StoredOutcome {
  return {
    ...{ deliveryId, endpointId, streak: 'add', gone: false, probe: false, at: T0 },
    next: { status: 'retrying', at: T0 + 5_000 },
    attempt: {
      id: `att_${deliveryId}`,
      attempt: 1,
      startedAt: T0,
      durationMs: 3,
      detail: '{"response":null}',
    },
  };
}
