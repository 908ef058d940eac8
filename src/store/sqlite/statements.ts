import type { Database } from 'better-sqlite3';
import type { StoreStatements } from '../changes.ts';
import { accountsSql } from './sql/accounts.ts';
import { campaignsSql } from './sql/campaigns.ts';
import { claimsSql } from './sql/claims.ts';
import { companiesSql } from './sql/companies.ts';
import { deliveriesSql } from './sql/deliveries.ts';
import { endpointsSql } from './sql/endpoints.ts';
import { erasureSql } from './sql/erasure.ts';
import { eventsSql } from './sql/events.ts';
import { jobsSql } from './sql/jobs.ts';
import { knownSignalsSql } from './sql/known-signals.ts';
import { leadsSql } from './sql/leads.ts';
import { mailSql } from './sql/mail.ts';
import { mentionsSql } from './sql/mentions.ts';
import { presenceSql, processesSql } from './sql/processes.ts';
import { profilesSql } from './sql/profiles.ts';
import { requestsSql } from './sql/requests.ts';
import { signalsSql } from './sql/signals.ts';
import { sourcesSql } from './sql/sources.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** The statements of the changes on one connection, answered at once. `log` is that of its transactions. */
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
