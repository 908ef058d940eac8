import type { Database } from 'better-sqlite3';
import { type Changes, createChanges, type NamedChange, type StoreStatements } from '../changes.ts';
import { commitBatch } from '../commit-batch.ts';
import type { Script } from '../script.ts';
import type { Committed } from '../write-queue.ts';
import { createAttemptCounts } from './attempt-counts.ts';
import { accountsSql } from './sql/accounts.ts';
import { campaignsSql } from './sql/campaigns.ts';
import { claimsSql } from './sql/claims.ts';
import { deliveriesSql } from './sql/deliveries.ts';
import { endpointsSql } from './sql/endpoints.ts';
import { erasureSql, mentionsSql } from './sql/erasure.ts';
import { eventsSql } from './sql/events.ts';
import { knownSignalsSql } from './sql/known-signals.ts';
import { leadsSql } from './sql/leads.ts';
import { mailSql } from './sql/mail.ts';
import { answeredAtOnce, runAtOnce } from './sql/prepared.ts';
import { presenceSql, processesSql } from './sql/processes.ts';
import { profilesSql } from './sql/profiles.ts';
import { jobsSql, requestsSql } from './sql/requests.ts';
import { companiesSql, signalsSql } from './sql/signals.ts';
import { sourcesSql } from './sql/sources.ts';
import { createTransactions, createWriteAheadLog, type WriteAheadLog } from './transaction.ts';

/** The changes on one connection, each run synchronously, inside a transaction of the caller. */
export function createRunner(
  db: Database,
  statements: StoreStatements = createStatements(db, createWriteAheadLog(db)),
): Changes {
  const scripts = Object.entries(createChanges(answeredAtOnce(statements)));
  return Object.fromEntries(
    scripts.map(([name, script]) => [name, runAtOnce(script as (...args: unknown[]) => Script<unknown>)]),
  ) as Changes;
}

/** Commits batches of changes on one connection. */
export function createCommitter(db: Database): (batch: readonly NamedChange[]) => Committed {
  const log = createWriteAheadLog(db);
  const statements = createStatements(db, log);
  const counts = createAttemptCounts(statements.deliveries.countAttempts);
  const deliveries = { ...statements.deliveries, countAttempts: counts.add };
  const changes = createRunner(db, { ...statements, deliveries }) as Record<
    keyof Changes,
    (...args: unknown[]) => unknown
  >;
  const transactions = createTransactions(db, log, counts);

  function apply(change: NamedChange): unknown {
    return changes[change[0]](...change[1]);
  }

  return (batch) => commitBatch(batch, apply, transactions);
}

/** The statements of the changes on one connection, run synchronously. `log` is that of its transactions. */
export function createStatements(db: Database, log: WriteAheadLog): StoreStatements {
  return {
    accounts: accountsSql(db),
    campaigns: campaignsSql(db),
    claims: claimsSql(db),
    companies: companiesSql(db),
    deliveries: deliveriesSql(db),
    endpoints: endpointsSql(db),
    erasure: erasureSql(db, log),
    events: eventsSql(db),
    jobs: jobsSql(db),
    knownSignals: knownSignalsSql(db),
    leads: leadsSql(db),
    mail: mailSql(db),
    mentions: mentionsSql(db),
    presence: presenceSql(db),
    processes: processesSql(db),
    profiles: profilesSql(db),
    requests: requestsSql(db),
    signals: signalsSql(db),
    sources: sourcesSql(db),
  };
}
