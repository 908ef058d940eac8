import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../store.ts';
import { translateFault } from '../write-queue.ts';
import type { Context } from './context.ts';
import { faultOfSqlite } from './faults.ts';
import { accountMethods } from './methods/accounts.ts';
import { campaignMethods } from './methods/campaigns.ts';
import { companyMethods } from './methods/companies.ts';
import { deliveryMethods } from './methods/deliveries.ts';
import { deliveryLogMethods } from './methods/delivery-log.ts';
import { endpointMethods } from './methods/endpoints.ts';
import { erasureMethods } from './methods/erasure.ts';
import { eventMethods } from './methods/events.ts';
import { idempotencyMethods } from './methods/idempotency.ts';
import { keyMethods } from './methods/keys.ts';
import { leadMethods } from './methods/leads.ts';
import { mailMethods } from './methods/mail.ts';
import { planMethods } from './methods/plans.ts';
import { profileMethods } from './methods/profiles.ts';
import { signalMethods } from './methods/signals.ts';
import { sourceMethods } from './methods/sources.ts';
import { createProbeSql } from './tables/probe.ts';
import type { Writer } from './writer.ts';

/** The store on an open, migrated database, which it closes with itself and its writer. */
export function createSqliteStore(options: { db: Database; clock: Clock; writer: Writer }): Store {
  const { db, clock, writer } = options;
  const probe = createProbeSql(db);
  const context: Context = {
    db,
    clock,
    writer,
    async read(query) {
      try {
        return query();
      } catch (error) {
        throw translateFault(error, faultOfSqlite);
      }
    },
  };

  return {
    ...accountMethods(context),
    ...keyMethods(context),
    ...profileMethods(context),
    ...signalMethods(context),
    ...leadMethods(context),
    ...erasureMethods(context),
    ...campaignMethods(context),
    ...companyMethods(context),
    ...endpointMethods(context),
    ...deliveryMethods(context),
    ...eventMethods(context),
    ...deliveryLogMethods(context),
    ...planMethods(context),
    ...mailMethods(context),
    ...idempotencyMethods(context),
    ...sourceMethods(context),
    async probe() {
      await writer.run('probe', clock.now());
      await context.read(probe.read);
    },
    async close() {
      await writer.close();
      db.close();
    },
  };
}
