import type { StoreStatements } from '../changes.ts';
import type { Asks, Script, StatementCall } from '../script.ts';
import type { Connection } from './connection.ts';
import { accountsSql } from './sql/accounts.ts';
import { campaignsSql } from './sql/campaigns.ts';
import { claimsSql } from './sql/claims.ts';
import { deliveriesSql } from './sql/deliveries.ts';
import { endpointsSql } from './sql/endpoints.ts';
import { erasureSql, mentionsSql } from './sql/erasure.ts';
import { eventsSql } from './sql/events.ts';
import { leadsSql } from './sql/leads.ts';
import { mailSql } from './sql/mail.ts';
import type { Async } from './sql/prepared.ts';
import { presenceSql, processesSql } from './sql/processes.ts';
import { profilesSql } from './sql/profiles.ts';
import { jobsSql, requestsSql } from './sql/requests.ts';
import { companiesSql, knownSignalsSql, signalsSql } from './sql/signals.ts';
import { sourcesSql } from './sql/sources.ts';

type LaterStatements = { readonly [A in keyof StoreStatements]: Async<StoreStatements[A]> };

/** The statements of the changes on one connection. */
function createStatements(db: Connection): LaterStatements {
  return {
    accounts: accountsSql(db),
    campaigns: campaignsSql(db),
    claims: claimsSql(db),
    companies: companiesSql(db),
    deliveries: deliveriesSql(db),
    endpoints: endpointsSql(db),
    erasure: erasureSql(db),
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

/**
 * Statements in the form that scripts use, for an asynchronous driver: a script pauses at each until there is a
 * result.
 */
export function answeredLater<S extends object>(): Asks<S> {
  const named = (aggregate: string) =>
    new Proxy(
      {},
      {
        get:
          (_, name: string) =>
          (...values: unknown[]) =>
            ask({ aggregate, name, values }),
      },
    );
  return new Proxy({}, { get: (_, aggregate: string) => named(aggregate) }) as Asks<S>;
}

function* ask(question: StatementCall): Generator<StatementCall, unknown> {
  return yield question;
}

/** Runs scripts on one connection, one after the other, inside a transaction of the caller. */
export function createScriptRunner(db: Connection): <R>(script: Script<R>) => Promise<R> {
  const statements = createStatements(db) as unknown as Record<
    string,
    Record<string, (...values: readonly unknown[]) => unknown>
  >;

  return async (script) => {
    const steps = script[Symbol.iterator]();
    let step = steps.next();
    while (step.done !== true) {
      const { aggregate, name, values } = step.value;
      const statement = statements[aggregate]?.[name];
      if (statement === undefined) throw new Error(`There is no statement ${aggregate}.${name}.`);
      let answer: unknown;
      try {
        answer = statement(...values);
        // A statement without a result is in progress; the next one is sent after it.
        if (answer instanceof Promise) answer = await answer;
      } catch (error) {
        if (steps.throw === undefined) throw error;
        step = steps.throw(error);
        continue;
      }
      step = steps.next(answer);
    }
    return step.value;
  };
}
