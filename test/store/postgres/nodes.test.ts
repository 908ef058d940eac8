import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { connect } from '../../../src/store/postgres/connection.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import type { MadeDue, OpenedStore } from '../../../src/store/store.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant } from '../../support/store.ts';
import { workForATurn } from '../../support/turn.ts';

describe.skipIf(mayLackPostgres())('nodes on one PostgreSQL database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  async function twoNodes(): Promise<[OpenedStore, OpenedStore, (sql: string) => Promise<void>]> {
    const config = await server.createDatabase();
    const open = async () => {
      const store = await openPostgresStore({ config, clock: systemClock });
      onTestFinished(store.close);
      return store;
    };
    const [first, second] = [await open(), await open()];
    await first.createTenant(aTenant('ten_a'));
    await first.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
    const db = await connect(config);
    onTestFinished(db.close);
    return [first, second, db.execute];
  }

  async function addDelivery(store: OpenedStore, id: string): Promise<void> {
    const event = aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [id], createdAt: systemClock.now() });
    await store.commitSignals([aSignal('ten_a', { externalId: id, text: id, events: [event] })]);
  }

  const claim = async (store: OpenedStore, leaseToken: string, leaseMs: number) => {
    const now = systemClock.now();
    const lanes = [{ endpointId: 'whk_a', limit: 10, knownVersion: -1, held: [] }];
    const terms = { now, leaseUntil: now + leaseMs, leaseToken, recentSince: now - 60_000 };
    return (await store.claimDeliveries({ lanes, ...terms }))[0];
  };

  test('receive what others make due or change, but not their own changes', async () => {
    const [first, second, notify] = await twoNodes();
    const heard: { by: string; made: MadeDue }[] = [];
    first.onCommitted((made) => heard.push({ by: 'first', made }));
    second.onCommitted((made) => heard.push({ by: 'second', made }));
    const shared = () => heard.filter(({ by, made }) => by === 'second' && made.endpoints.includes('whk_a'));
    const hasLooked = (node: string) => heard.some(({ by, made }) => by === node && made.sources);
    // Waits until both listen, because earlier messages are missed.
    await expect
      .poll(async () => {
        await first.pauseEndpoint('ten_a', 'whk_a', systemClock.now());
        await first.resumeEndpoint({ tenantId: 'ten_a', id: 'whk_a', now: systemClock.now() } as never);
        return shared().length;
      })
      .toBeGreaterThan(0);
    // A node that starts to listen looks for what is due, which may take longer than a message.
    await expect.poll(() => hasLooked('first') && hasLooked('second')).toBe(true);
    // Earlier messages arrive together with this one, or are still in transit.
    await new Promise((resolve) => setTimeout(resolve, 100));
    heard.length = 0;
    const unreadable = [
      '{"due":[null],"endpoints":[],"counts":[]}',
      '{"due":[],"endpoints":[],"counts":[1]}',
    ];
    for (const other of ['hello', 'null', '{}', '[1]', ...unreadable])
      await notify(`NOTIFY signalpost, '${other}'`);
    await addDelivery(first, 'dlv_1');
    const due = [{ endpointId: 'whk_a', tenantId: 'ten_a' }];
    const made = { due, endpoints: [], sources: false };
    await expect
      .poll(() => heard)
      .toEqual([
        { by: 'first', made },
        { by: 'second', made },
      ]);
  });

  test('poll once for all messages that arrive while they poll', async () => {
    const [, second, execute] = await twoNodes();
    let polls = 0;
    second.onCommitted(({ sources }) => {
      if (sources) polls++;
    });
    await expect.poll(() => polls).toBe(1);
    const message = { from: 'another', due: [], endpoints: [], sources: false, counts: [], more: true };
    await execute(
      `SELECT pg_notify('signalpost', '${JSON.stringify(message)}' || repeat(' ', n)) FROM generate_series(1, 100) n`,
    );
    await expect.poll(() => polls).toBeGreaterThan(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(polls).toBeLessThan(20);
  });

  test('read messages that arrive together in several turns of the event loop', async () => {
    const [, second, execute] = await twoNodes();
    const turns: number[] = [];
    let isListening = false;
    second.onCommitted(({ due, sources }) => {
      isListening ||= sources;
      if (due.some(({ endpointId }) => endpointId === 'whk_b')) turns.push(workForATurn());
    });
    await expect.poll(() => isListening).toBe(true);
    const due = [['whk_b', 'ten_a']];
    const message = { from: 'another', due, endpoints: [], sources: false, counts: [], more: false };
    await execute(
      `SELECT pg_notify('signalpost', '${JSON.stringify(message)}' || repeat(' ', n)) FROM generate_series(1, 20) n`,
    );
    await expect.poll(() => turns.length).toBe(20);
    expect(new Set(turns).size).toBeGreaterThan(10);
  });

  test('share their counts, and only one of them has the duty', async () => {
    const [first, second] = await twoNodes();
    const counts: [string, number][] = [];
    const count = first.shareCounts('keys', () => expect.unreachable());
    second.shareCounts('keys', (key, n) => counts.push([key, n]));
    expect([await first.isOnDuty(), await second.isOnDuty()]).toEqual([true, false]);
    await expect
      .poll(() => {
        count('key_1', 2);
        return counts.length;
      })
      .toBeGreaterThan(0);
    expect(counts.every(([key, n]) => key === 'key_1' && n % 2 === 0)).toBe(true);
    await expect.poll(() => first.pulse().clockSkewMs).toBeTypeOf('number');
    expect(Math.abs(first.pulse().clockSkewMs ?? 0)).toBeLessThan(1_000);
  });

  test('end the transaction of a node that does not read what it asked for', async () => {
    const config = await server.createDatabase();
    const clock = { ...systemClock, after: (ms: number, fn: () => void) => systemClock.after(ms / 50, fn) };
    const store = await openPostgresStore({ config, clock });
    onTestFinished(store.close);
    await store.createTenant(aTenant('ten_a'));
    store.onCommitted(() => {});
    const suspended = new pg.Client(config);
    const ended = new Promise((resolve) => suspended.on('error', resolve));
    await suspended.connect();
    onTestFinished(() => suspended.end());
    await suspended.query(
      "BEGIN; SELECT pg_current_xact_id(), pg_advisory_xact_lock(hashtextextended('ten_a', 0))",
    );
    const { stream } = (suspended as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection;
    stream.pause();
    suspended.query("SELECT repeat('x', 4000000)").catch(() => {});
    await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
    stream.resume();
    expect(await ended).toBeInstanceOf(Error);
  });

  test('a node that takes over an endpoint gets its past attempts, including possible attempts', async () => {
    const [first, second] = await twoNodes();
    await addDelivery(first, 'dlv_1');
    await addDelivery(first, 'dlv_2');
    const own = await claim(first, 'lease_1', 0);
    expect([own?.deliveries.map(({ id }) => id), own?.recent]).toEqual([['dlv_1', 'dlv_2'], undefined]);
    const startedAt = systemClock.now();
    await first.recordOutcome({
      ...{
        deliveryId: 'dlv_1',
        endpointId: 'whk_a',
        streak: 'keep',
        gone: false,
        probe: false,
        at: startedAt,
      },
      next: { status: 'delivered' },
      attempt: {
        ...{ id: `att_${'z'.repeat(25)}`, attempt: 1, startedAt, durationMs: 3 },
        ...{ sent: null, response: null, error: null, timings: {} },
      },
    });
    const before = systemClock.now();
    const taken = await claim(second, 'lease_2', 60_000);
    expect(taken?.deliveries.map(({ id }) => id)).toEqual(['dlv_2']);
    expect(taken?.recent).toEqual([startedAt, expect.any(Number)]);
    expect(taken?.recent?.[1]).toBeGreaterThanOrEqual(before);
    expect((await claim(second, 'lease_2', 60_000))?.recent).toBeUndefined();
    expect((await claim(first, 'lease_1', 60_000))?.deliveries).toEqual([]);
  });
});
