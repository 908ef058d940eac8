import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import { scopeSchema } from '../../../model/key.ts';
import { leadSchema } from '../../../model/lead.ts';
import { explanationSchema, signalSchema } from '../../../model/signal.ts';
import { webhookInputSchema } from '../../../model/webhook.ts';
import type { Finding } from './finding.ts';

const anObject = z.record(z.string(), z.unknown());
const strings = z.array(z.string());

/** Every column that holds JSON, by table: what must be true of it. Null passes where the column allows it. */
const COLUMNS: Record<string, Record<string, z.ZodType>> = {
  api_keys: { scopes: z.array(scopeSchema) },
  icp_profiles: { settings: anObject },
  signals: { wire: signalSchema, explanation: explanationSchema },
  leads: { wire: leadSchema },
  companies: { facts: anObject },
  campaigns: { settings: anObject },
  webhook_endpoints: { settings: webhookInputSchema },
  events: { data: anObject },
  event_skips: { endpoint_ids: strings },
  lane_leases: { held: z.record(z.string(), z.number()) },
  attempts: { detail: anObject },
  mail_outbox: { facts: anObject },
  sources: {
    settings: anObject,
    profile_ids: strings,
    position: anObject,
    last_error: anObject,
    secrets: anObject,
    quota: anObject,
  },
  source_runs: { error: anObject },
};

/** Rows whose JSON cannot be read, or is not what this release writes. */
export function* checkJson(db: Database): Generator<Finding> {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const names = Object.keys(columns);
    const key = db.pragma(`table_info(${table})`) as { name: string; pk: number }[];
    const id = key.find(({ pk }) => pk === 1)?.name ?? 'rowid';
    // Read once: several columns of a wide row cost one reading of it.
    const rows = db.prepare<[], Record<string, string | null>>(
      `SELECT ${id} AS "key", ${names.join(', ')} FROM ${table}`,
    );
    for (const row of rows.iterate()) {
      for (const name of names) {
        const fault = faultOf(row[name] ?? null, columns[name] as z.ZodType);
        if (fault !== null) yield { part: 'json', detail: `${table} ${row.key}: ${name} ${fault}` };
      }
    }
  }
}

/** Never the text itself, which may be a person's. */
function faultOf(text: string | null, schema: z.ZodType): string | null {
  if (text === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'is no JSON';
  }
  const result = schema.safeParse(value);
  if (result.success) return null;
  const [issue] = result.error.issues;
  return `is not what it should be at "${issue?.path.join('.')}" (${issue?.code})`;
}
