import type { Command } from 'commander';
import { CommandError, EXIT, type Ports, table } from './ports.ts';

/** `migrate-store --to`: copies a stopped store from SQLite to PostgreSQL. */
export function addMigrateStore(parent: Command, ports: Ports): void {
  parent
    .command('migrate-store')
    .description(
      'copy the SQLite database of a stopped server to an empty PostgreSQL database; run it again to resume. ' +
        'Exit code 0: both hold the same, 1: they do not',
    )
    .requiredOption('--to <url>', 'the database, as in DATABASE_URL; without a password, PGPASSWORD is used')
    .action(({ to }: { to: string }) => migrateStore(ports, to));
}

async function migrateStore(ports: Ports, to: string): Promise<void> {
  const url = URL.parse(to);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.length < 2) {
    // Does not repeat the argument, which may contain a password.
    throw new CommandError('--to: must be an address such as postgres://user@host/database.', EXIT.usage);
  }
  const { tables, isCopied } = await ports.copyStore(to, progress(ports));
  const rows = tables.map(({ name, sqlite, postgres, isSame }) => [
    ...[
      name,
      String(sqlite.rows),
      String(postgres.rows),
      sqlite.hash.slice(0, 16),
      postgres.hash.slice(0, 16),
    ],
    isSame ? 'same' : 'DIFFERENT',
  ]);
  for (const line of table(['TABLE', 'SQLITE', 'POSTGRESQL', 'SQLITE HASH', 'POSTGRESQL HASH', ''], rows))
    ports.out(line);
  const different = tables.filter(({ isSame }) => !isSame).map(({ name }) => name);
  const count = tables.reduce((sum, { sqlite }) => sum + sqlite.rows, 0);
  if (!isCopied)
    ports.err(
      'The PostgreSQL database already contains a store: nothing was copied, and both were compared.',
    );
  if (different.length > 0) {
    ports.out(
      `The stores differ in ${different.length} of ${tables.length} tables: ${different.join(', ')}.`,
    );
    if (isCopied)
      ports.err('No server will use the copy. Create the PostgreSQL database anew, empty, and try again.');
    ports.setExitCode(EXIT.failed);
    return;
  }
  ports.out(`Both stores are identical: ${count} rows in ${tables.length} tables.`);
  if (isCopied) {
    ports.err(
      'Set DATABASE_URL on each node, and give each the same master key (secrets.key or SECRETS_KEY). The SQLite database was not ' +
        'changed: do not start a server on it again.',
    );
  }
}

const STEPS = { read: 'Reading', copy: 'Copying', compare: 'Comparing' };

/** Prints a line to stderr when a step begins, and for each tenth of it. */
function progress(ports: Ports): Parameters<Ports['copyStore']>[1] {
  let [last, shown] = ['', 0];
  return ({ step, done, total }) => {
    const tenths = Math.floor((done / Math.max(1, total)) * 10);
    if (step === last && (tenths <= shown || tenths >= 10)) return;
    if (step !== last) ports.err(`${STEPS[step]}: ${done} of ${total} rows`);
    else ports.err(`${STEPS[step]}: ${tenths * 10} %`);
    [last, shown] = [step, tenths];
  };
}
