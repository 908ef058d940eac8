import type { Database } from 'better-sqlite3';
import { type Changes, createChanges } from '../changes.ts';
import type { Script } from '../script.ts';
import { answeredAtOnce, runScript } from './answers.ts';
import { createStatements } from './statements.ts';
import { createWriteAheadLog, type WriteAheadLog } from './write-ahead-log.ts';

/** The changes on one connection, each run when it is called, inside a transaction of the caller's. */
export function createRunner(db: Database, log: WriteAheadLog = createWriteAheadLog(db)): Changes {
  const scripts = createChanges(answeredAtOnce(createStatements(db, log)));
  const run =
    (script: (...args: never[]) => Script<unknown>) =>
    (...args: never[]) =>
      runScript(script(...args));
  return Object.fromEntries(Object.entries(scripts).map(([name, script]) => [name, run(script)])) as Changes;
}
