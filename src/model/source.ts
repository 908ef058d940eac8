import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { NO_SETTINGS } from './constants.ts';
import { hintFor } from './source-hints.ts';
import {
  givenSettings,
  kindSchema,
  SECRET_NAMES,
  type SecretName,
  type SourceKind,
  type SourceSettings,
} from './source-settings.ts';
import { requiredLine } from './text.ts';

const statusSchema = z.enum(['active', 'paused']);

const INTERVAL = { min: 60, max: 86_400, default: 900 };

const nameSchema = requiredLine(200);
const intervalSchema = z
  .int()
  .min(INTERVAL.min)
  .max(INTERVAL.max)
  .describe('Between two runs; a source that fails is asked less often');
const profilesSchema = z
  .array(z.string().max(100))
  .max(100)
  .transform((ids) => [...new Set(ids)])
  .describe('The profiles its posts are matched with; empty: all that are active');

const maxAgeSchema = z
  .int()
  .min(1)
  .max(90)
  .describe('What is older when it is read is not new, and makes no signal');

/** Body of `POST /v1/sources`. */
export const sourceInputSchema = z.strictObject({
  kind: kindSchema,
  name: nameSchema,
  ...givenSettings,
  icp_profile_ids: profilesSchema.default([]),
  interval_seconds: intervalSchema.default(INTERVAL.default),
  max_age_days: maxAgeSchema.default(7),
  active: z.boolean().default(true).describe('false: it starts paused'),
});
export type SourceInput = z.output<typeof sourceInputSchema>;

/** Body of `PATCH /v1/sources/{id}`: what is left out stays as it is. */
export const sourcePatchSchema = z.strictObject({
  name: nameSchema.optional(),
  ...givenSettings,
  icp_profile_ids: profilesSchema.optional(),
  interval_seconds: intervalSchema.optional(),
  max_age_days: maxAgeSchema.optional(),
  active: z.boolean().optional().describe('false pauses it, true resumes it'),
});
export type SourcePatch = z.output<typeof sourcePatchSchema>;

const time = z.iso.datetime();

/** Why a run failed, and what to do about it. */
const sourceErrorSchema = z
  .strictObject({
    code: z.string().describe('Such as `timeout`, `http_status`, `rate_limited` or `invalid_feed`'),
    message: z.string(),
    hint: z.string().describe('What to do about it'),
    at: time,
  })
  .meta({ id: 'SourceError' });

/** A run of a source on the wire. */
export const sourceRunSchema = z
  .strictObject({
    id: z.string(),
    started_at: time,
    ended_at: time,
    status: z.enum(['succeeded', 'failed']),
    error: sourceErrorSchema.nullable().describe('What it failed of'),
    items_seen: z.int().describe('New posts that it read'),
    items_matched: z.int().describe('Of these, posts that a profile found at least warm'),
    signals_made: z.int(),
  })
  .meta({ id: 'SourceRun' });
export type SourceRunResource = z.infer<typeof sourceRunSchema>;

/** A source on the wire. */
export const sourceSchema = z
  .strictObject({
    id: z.string(),
    kind: kindSchema,
    name: z.string(),
    url: z.string().nullable().describe('Settings that its kind does not have are null'),
    query: z.string().nullable(),
    site: z.string().nullable(),
    tagged: z.array(z.string()).nullable(),
    board: z.string().nullable(),
    tag: z.string().nullable(),
    subreddit: z.string().nullable(),
    client_id: z.string().nullable(),
    secrets: z
      .array(z.enum(SECRET_NAMES))
      .describe('Which of `client_secret`, `token` and `key` are set; they are never shown'),
    icp_profile_ids: z.array(z.string()).describe('Empty: all that are active'),
    interval_seconds: z.int(),
    max_age_days: z.int(),
    status: statusSchema,
    last_run_at: time.nullable().describe('When a run last ended, whatever came of it'),
    last_success_at: time.nullable(),
    next_poll_at: time.nullable().describe('When it is due; null while it is paused'),
    last_error: sourceErrorSchema
      .nullable()
      .describe('What the last run failed of; null since a run succeeded'),
    failing_since: time
      .nullable()
      .describe('When the first of the runs was that failed since the last success'),
    quota: z
      .strictObject({
        remaining: z.int().describe('Requests that are left'),
        limit: z.int().nullable().describe('Requests in all; null: it did not say'),
        at: time.describe('When the service said so'),
      })
      .nullable()
      .describe('What the service said is left of our requests; null: it says nothing'),
    items_seen: z.int().describe('Posts that were read and matched, each once'),
    items_matched: z.int().describe('Of these, posts that a profile found at least warm'),
    items_relevant: z.int().describe('Signals of it that feedback calls relevant'),
    signals_made: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Source' });
export type SourceResource = z.infer<typeof sourceSchema>;

/** How far a source was read. */
export interface SourcePosition {
  /** Validators of the last whole answer (RFC 9110, section 8.8). */
  etag: string | null;
  lastModified: string | null;
  /** The time of the newest item, Unix milliseconds, where the source can be asked for newer ones. */
  newestAt: number | null;
  /** Keys of items that were read, newest first. */
  seen: string[];
  /** What else a reader goes on by, in words of its own. */
  cursor: string | null;
}

/** Why a run failed; `at` in Unix milliseconds. */
export interface SourceError {
  code: string;
  message: string;
  at: number;
}

/** What a service said is left of our requests; `at` in Unix milliseconds. */
export interface SourceQuota {
  remaining: number;
  limit: number | null;
  at: number;
}

/** A run that ended, as stored. Times are Unix milliseconds. */
export interface EndedRun {
  id: string;
  startedAt: number;
  endedAt: number;
  error: SourceError | null;
  itemsSeen: number;
  itemsMatched: number;
  signalsMade: number;
}

/** A source as stored. Times are Unix milliseconds; `version` grows with every change of a caller. */
export interface Source {
  id: string;
  tenantId: string;
  kind: SourceKind;
  name: string;
  settings: SourceSettings;
  /** What the secret box made of each, in base64. */
  secrets: Partial<Record<SecretName, string>>;
  profileIds: string[];
  intervalSeconds: number;
  maxAgeDays: number;
  status: z.infer<typeof statusSchema>;
  nextPollAt: number;
  lastRunAt: number | null;
  lastSuccessAt: number | null;
  lastError: SourceError | null;
  /** Runs that failed since the last that did not. */
  failures: number;
  failingSince: number | null;
  quota: SourceQuota | null;
  itemsSeen: number;
  itemsMatched: number;
  itemsRelevant: number;
  signalsMade: number;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** A source as every API shows it. */
export function sourceResource(source: Source): SourceResource {
  const { quota } = source;
  return {
    id: source.id,
    kind: source.kind,
    name: source.name,
    ...NO_SETTINGS,
    ...source.settings,
    secrets: SECRET_NAMES.filter((name) => source.secrets[name] !== undefined),
    icp_profile_ids: source.profileIds,
    interval_seconds: source.intervalSeconds,
    max_age_days: source.maxAgeDays,
    status: source.status,
    last_run_at: isoOrNull(source.lastRunAt),
    last_success_at: isoOrNull(source.lastSuccessAt),
    next_poll_at: source.status === 'paused' ? null : toIso(source.nextPollAt),
    last_error: errorResource(source.lastError),
    failing_since: isoOrNull(source.failingSince),
    quota: quota && { remaining: quota.remaining, limit: quota.limit, at: toIso(quota.at) },
    items_seen: source.itemsSeen,
    items_matched: source.itemsMatched,
    items_relevant: source.itemsRelevant,
    signals_made: source.signalsMade,
    created_at: toIso(source.createdAt),
    updated_at: toIso(source.updatedAt),
  };
}

/** A run as every API shows it. */
export function sourceRunResource(run: EndedRun): SourceRunResource {
  return {
    id: run.id,
    started_at: toIso(run.startedAt),
    ended_at: toIso(run.endedAt),
    status: run.error === null ? 'succeeded' : 'failed',
    error: errorResource(run.error),
    items_seen: run.itemsSeen,
    items_matched: run.itemsMatched,
    signals_made: run.signalsMade,
  };
}

function errorResource(error: SourceError | null) {
  return (
    error && { code: error.code, message: error.message, hint: hintFor(error.code), at: toIso(error.at) }
  );
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : toIso(ms);
}
