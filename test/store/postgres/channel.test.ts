import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, openChannel } from '../../../src/store/postgres/connection.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';

describe.skipIf(mayLackPostgres())('a channel between nodes', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  /** A channel, and its number of connections. */
  async function aChannel(name: string) {
    const config = await server.createDatabase();
    const clock = createManualClock();
    const heard: string[] = [];
    let times = 0;
    const on = { listening: () => void times++, message: (payload: string) => void heard.push(payload) };
    const channel = openChannel({ ...config, application_name: 'channel' }, clock, name, on);
    onTestFinished(channel.close);
    const db = await connect(config);
    onTestFinished(db.close);
    const ask = (text: string) => db.ask({ name: '', text, members: null }, []);
    const connections = async () =>
      (await ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'channel'")).rows[0]?.[0];
    const timesListened = () => times;
    return { channel, clock, heard, timesListened, connections, ask };
  }

  test('that cannot listen retries over one connection at a time', async () => {
    const { clock, connections } = await aChannel('no name');
    for (let tries = 0; tries < 5; tries++) {
      await expect.poll(() => clock.pending(), { timeout: 10_000 }).toBe(1);
      await expect.poll(connections, { timeout: 10_000 }).toBe(0);
      clock.advance(1_000);
    }
  });

  test('whose connection ends while it starts to listen retries once', async () => {
    const { clock, connections } = await aChannel('x; SELECT pg_terminate_backend(pg_backend_pid())');
    for (let tries = 0; tries < 5; tries++) {
      await expect.poll(() => clock.pending(), { timeout: 10_000 }).toBeGreaterThan(0);
      await expect.poll(connections, { timeout: 10_000 }).toBe(0);
      // By then, any other effects of the connection's end have occurred.
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(clock.pending()).toBe(1);
      clock.advance(1_000);
    }
  });

  test('listens again after its connection ends, and receives each message once', async () => {
    const { clock, heard, timesListened, ask } = await aChannel('x');
    for (let round = 1; round <= 3; round++) {
      await expect.poll(timesListened, { timeout: 10_000 }).toBe(round);
      await ask(`SELECT pg_notify('x', '${round}')`);
      await expect.poll(() => heard, { timeout: 10_000 }).toContain(String(round));
      await ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'channel' AND state = 'idle'",
      );
      await expect.poll(() => clock.pending(), { timeout: 10_000 }).toBe(1);
      clock.advance(1_000);
    }
    expect(heard).toEqual(['1', '2', '3']);
  });
});
