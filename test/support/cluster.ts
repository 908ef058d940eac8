import { randomBytes } from 'node:crypto';
import { onTestFailed, onTestFinished } from 'vitest';
import { connect } from '../../src/store/postgres/connection.ts';
import { temporaryFolder } from '../cli/process.ts';
import { databaseUrl, type PostgresServer } from './postgres.ts';
import { freePort, runCommand, type ServerProcess, serverEnv, startServerProcess } from './server-process.ts';

/** A new database with a tenant, on which up to three nodes can be started. */
export async function createCluster(postgres: PostgresServer) {
  const config = await postgres.createDatabase();
  const env = { DATABASE_URL: databaseUrl(config), SECRETS_KEY: randomBytes(32).toString('base64') };
  const folders = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
  onTestFinished(() => {
    for (const folder of folders) folder[Symbol.dispose]();
  });
  const ports = await Promise.all(folders.map(() => freePort()));
  const place = (n: number) => [folders[n]?.path ?? '', ports[n] ?? 0] as const;
  /** Starts a node, with `more` in addition to the common settings. If the test fails, its output is printed. */
  const start = async (n: number, more: NodeJS.ProcessEnv = {}): Promise<ServerProcess> => {
    const node = await startServerProcess(...place(n), { ...env, ...more });
    onTestFinished(async () => {
      node.thaw();
      await node.kill();
    });
    onTestFailed(() => {
      console.error(`node ${n}${node.hasEnded() ? ', which has ended' : ''}, printed:\n${node.output()}`);
    });
    return node;
  };
  const tenant = await runCommand(
    ['tenant', 'create', '--name', 'Nodes', '--email', 'n@example.com', '--plan', 'enterprise', '--json'],
    { ...serverEnv(...place(0)), ...env },
  );
  const key: string = JSON.parse(tenant).api_key;
  const ask = async (sql: string) => {
    const db = await connect(config);
    const { rows } = await db.ask({ name: '', text: sql, members: null }, []);
    await db.close();
    return rows;
  };
  return { start, key, ask, config, env, url: (n: number) => `http://127.0.0.1:${ports[n]}` };
}
