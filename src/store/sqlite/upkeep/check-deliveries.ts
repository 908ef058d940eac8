import type { Database } from 'better-sqlite3';
import { DELIVERY_STATUSES } from '../../../model/delivery.ts';
import type { Finding } from './finding.ts';

const WAITS = "status IN ('pending', 'retrying')";

/** What the dispatcher relies on; each query finds the rows of which it is not true. */
const RULES: [sql: string, what: string][] = [
  [
    `SELECT id FROM deliveries WHERE ${WAITS} AND next_attempt_at IS NULL`,
    'waits, and nothing says for when: it would never be sent',
  ],
  [
    `SELECT id FROM deliveries WHERE NOT ${WAITS} AND next_attempt_at IS NOT NULL`,
    'has ended, and is planned',
  ],
  [
    `SELECT id FROM deliveries WHERE status = 'dead' AND expires_at IS NULL`,
    'is dead, and never leaves the queue',
  ],
  [
    `SELECT d.id FROM deliveries d WHERE d.${WAITS}
     AND NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.id = d.body_id)`,
    'waits, and has no body',
  ],
  [`SELECT id FROM deliveries WHERE attempt_count < cycle_start`, 'has fewer attempts than it began with'],
  [
    `SELECT id FROM deliveries WHERE status NOT IN (${DELIVERY_STATUSES.map((name) => `'${name}'`).join(', ')})`,
    'has a status that there is not',
  ],
  [
    `SELECT a.id FROM attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE a.attempt > d.attempt_count`,
    'is an attempt that its delivery does not count',
  ],
  [
    `SELECT id FROM webhook_endpoints WHERE deleted_at IS NULL AND (status = 'paused') <> (paused_reason IS NOT NULL)`,
    'is paused without a reason, or has one and is not paused',
  ],
];

export function* checkDeliveries(db: Database): Generator<Finding> {
  for (const [sql, what] of RULES) {
    for (const id of db.prepare<[], string>(sql).pluck().iterate()) {
      yield { part: 'deliveries', detail: `${id}: ${what}` };
    }
  }
}
