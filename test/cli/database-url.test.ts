import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, connect } from '../../src/store/postgres/connection.ts';
import { RECEIVERS } from '../dispatcher/tls-fixture.ts';
import { databaseUrl, mayLackPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { run, temporaryFolder } from './process.ts';

/** "reader" has a password, and so can only connect with it. */
const ADMISSION = 'local all reader scram-sha-256\nlocal all locked_out reject\nlocal all all trust\n';

describe.skipIf(mayLackPostgres())('with an unusable DATABASE_URL', () => {
  let postgres: PostgresServer;
  let folder: string;
  let base: { host: string; user: string; database: string };
  let admin: Connection;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'signalpost-hba-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'pg_hba.conf'), ADMISSION, { mode: 0o644 });
    postgres = await startPostgres({ hba_file: join(folder, 'pg_hba.conf') });
    base = await postgres.createDatabase();
    admin = await connect(base);
    await admin.execute(
      "CREATE ROLE reader LOGIN PASSWORD 'right'; CREATE ROLE guest LOGIN; CREATE ROLE locked_out LOGIN",
    );
    await admin.execute(
      "CREATE DATABASE of_bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'",
    );
  });
  afterAll(async () => {
    await admin.close();
    await postgres[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Commands open the database like the server, without having to load the site first. */
  async function refused(url: string, command = 'migrate') {
    using data = temporaryFolder();
    return await run([command], { DATA_DIR: data.path, PORT: '0', DATABASE_URL: url });
  }

  const refusals: [what: string, change: (url: string) => string, message: string][] = [
    [
      'a wrong password',
      (url) => `${url.replace('user=signalpost', 'user=reader')}&password=wrong-one`,
      'The PostgreSQL server does not accept the password. Correct it in DATABASE_URL.',
    ],
    [
      'no password where one is asked for',
      (url) => url.replace('user=signalpost', 'user=reader'),
      'The PostgreSQL server asks for a password, and DATABASE_URL has none. Add it there, or set PGPASSWORD.',
    ],
    [
      'a user that does not exist',
      (url) => url.replace('user=signalpost', 'user=nobody_here'),
      'The PostgreSQL server does not let this user in. Correct the user in DATABASE_URL, or allow it in pg_hba.conf.',
    ],
    [
      'a user that the server rejects',
      (url) => url.replace('user=signalpost', 'user=locked_out'),
      'The PostgreSQL server does not let this user in. Correct the user in DATABASE_URL, or allow it in pg_hba.conf.',
    ],
    [
      'a database that does not exist',
      (url) => url.replace(/\/test_\d+/, '/not_there'),
      'The PostgreSQL server has no such database. Create it, empty, with ENCODING UTF8, or correct the name in DATABASE_URL.',
    ],
    [
      'a user that may create nothing',
      (url) => url.replace('user=signalpost', 'user=guest'),
      'The PostgreSQL server does not let this user create tables. Make the user the owner of the database.',
    ],
    [
      'another encoding',
      (url) => url.replace(/\/test_\d+/, '/of_bytes'),
      "The database has the encoding SQL_ASCII, which does not hold every text. Create one with ENCODING 'UTF8'.",
    ],
    [
      'TLS that the server does not offer',
      (url) => `${url}&sslmode=verify-full`,
      'The PostgreSQL server does not offer TLS. Set it up there, or remove sslmode from DATABASE_URL.',
    ],
  ];

  test.each(refusals)('%s is refused with exit code 78 and one line', async (_what, change, message) => {
    const ended = await refused(change(databaseUrl(base)));
    expect(ended).toEqual({ code: 78, stdout: '', stderr: `${message}\n` });
  });

  test('the server does not start', async () => {
    const ended = await refused(databaseUrl({ ...base, database: 'not_there' }), 'serve');
    expect(ended).toMatchObject({ code: 78, stdout: '' });
    expect(ended.stderr).toMatch(/^The PostgreSQL server has no such database\..*\n$/);
  });

  test('a certificate that cannot be verified is refused with exit code 78 and one line', async () => {
    // The start of PostgreSQL's protocol: the client requests TLS, and "S" accepts.
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('S');
        new TLSSocket(socket, { isServer: true, ...RECEIVERS.valid }).on('error', () => socket.destroy());
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `postgres://someone@127.0.0.1:${port}/signals?sslmode=verify-full`;
    expect(await refused(url)).toEqual({
      code: 78,
      stdout: '',
      stderr:
        'The PostgreSQL server has a certificate that cannot be verified. Name its authority with sslrootcert in DATABASE_URL, or correct the host there.\n',
    });
    server.close();
  });

  test('with another master key, the server and every command exit without changing anything', async () => {
    const config = await postgres.createDatabase();
    using data = temporaryFolder();
    const env = { DATA_DIR: data.path, DATABASE_URL: databaseUrl(config) };
    const keys = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
    const create = ['tenant', 'create', '--name', 'A', '--email', 'a@example.com'];
    expect(await run(create, { ...env, SECRETS_KEY: keys[0] })).toMatchObject({ code: 0 });
    for (const args of [['serve'], create, ['migrate']]) {
      const { code, stdout, stderr } = await run(args, { ...env, SECRETS_KEY: keys[1], PORT: '0' });
      expect([code, stdout]).toEqual([78, '']);
      expect(stderr).toContain('The database belongs to another master key than the one in SECRETS_KEY');
      expect(stderr).not.toContain(String(keys[1]));
    }
    const { code, stdout } = await run(['tenant', 'list', '--json'], { ...env, SECRETS_KEY: keys[0] });
    expect([code, JSON.parse(stdout).length]).toEqual([0, 1]);
  });

  test('a command exits with 1 if the server cannot be reached', async () => {
    using data = temporaryFolder();
    const url = `postgres:///none?host=${data.path}&user=signalpost`;
    const { code, stdout, stderr } = await run(['tenant', 'list'], {
      DATA_DIR: data.path,
      DATABASE_URL: url,
    });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'The PostgreSQL server cannot be reached (ENOENT). Start it, or correct host and port in DATABASE_URL.\n',
    });
  });
});
