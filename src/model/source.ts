import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { fold } from '../lib/text.ts';
import { requiredLine, webUrl } from './text.ts';

export const SOURCE_KINDS = ['rss', 'hackernews', 'stackexchange', 'greenhouse', 'lever', 'ashby'] as const;
const kindSchema = z
  .enum(SOURCE_KINDS)
  .describe(
    '`rss`: any RSS, Atom, RDF or JSON feed. `hackernews`: search of stories and comments. `stackexchange`: questions of a site. `greenhouse`, `lever`, `ashby`: the open jobs of a company.',
  );
export type SourceKind = z.infer<typeof kindSchema>;

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

/** What kinds ask for, each for its own; see {@link SETTINGS_OF}. */
const settingsSchemas = {
  url: webUrl.describe('`rss`: address of the feed'),
  query: requiredLine(300).describe('`hackernews`, `stackexchange`: words to search for'),
  site: z
    .string()
    .trim()
    .toLowerCase()
    .max(64)
    .regex(/^[a-z0-9][a-z0-9.-]{0,63}$/, 'must be a site such as "stackoverflow" or "softwarerecs"')
    .describe('`stackexchange`: the site, as its API names it'),
  tagged: z
    .array(
      z
        .string()
        .trim()
        .toLowerCase()
        .max(35)
        .regex(/^[^\s;,]{1,35}$/, 'must be a tag, without spaces'),
    )
    .max(5)
    .describe('`stackexchange`: tags, of which a question has at least one'),
  board: z
    .string()
    .trim()
    .max(100)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be the board's name in its address")
    .describe("`greenhouse`, `lever`, `ashby`: the company's name in its board's address"),
};
export type SettingName = keyof typeof settingsSchemas;

/** A setting that some kind asks for. */
export interface SourceSettings {
  url: string | null;
  query: string | null;
  site: string | null;
  tagged: string[] | null;
  board: string | null;
}

/** Which settings each kind must and may have; any other is refused. */
export const SETTINGS_OF: Record<SourceKind, { needs: SettingName[]; takes: SettingName[] }> = {
  rss: { needs: ['url'], takes: ['url'] },
  hackernews: { needs: ['query'], takes: ['query'] },
  stackexchange: { needs: ['site'], takes: ['site', 'tagged', 'query'] },
  greenhouse: { needs: ['board'], takes: ['board'] },
  lever: { needs: ['board'], takes: ['board'] },
  ashby: { needs: ['board'], takes: ['board'] },
};

/** As they are given; null is none, as answers show those of other kinds. */
const givenSettings = {
  url: settingsSchemas.url.nullable().optional(),
  query: settingsSchemas.query.nullable().optional(),
  site: settingsSchemas.site.nullable().optional(),
  tagged: settingsSchemas.tagged.nullable().optional(),
  board: settingsSchemas.board.nullable().optional(),
};

/** Body of `POST /v1/sources`. */
export const sourceInputSchema = z.strictObject({
  kind: kindSchema,
  name: nameSchema,
  ...givenSettings,
  icp_profile_ids: profilesSchema.default([]),
  interval_seconds: intervalSchema.default(INTERVAL.default),
  active: z.boolean().default(true).describe('false: it starts paused'),
});
export type SourceInput = z.output<typeof sourceInputSchema>;

/** Body of `PATCH /v1/sources/{id}`: what is left out stays as it is. */
export const sourcePatchSchema = z.strictObject({
  name: nameSchema.optional(),
  ...givenSettings,
  icp_profile_ids: profilesSchema.optional(),
  interval_seconds: intervalSchema.optional(),
  active: z.boolean().optional().describe('false pauses it, true resumes it'),
});
export type SourcePatch = z.output<typeof sourcePatchSchema>;

const time = z.iso.datetime();

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
    icp_profile_ids: z.array(z.string()).describe('Empty: all that are active'),
    interval_seconds: z.int(),
    status: statusSchema,
    last_run_at: time.nullable().describe('When a run last ended, whatever came of it'),
    last_success_at: time.nullable(),
    next_poll_at: time.nullable().describe('When it is due; null while it is paused'),
    last_error: z
      .strictObject({
        code: z.string().describe('Such as `timeout`, `http_status`, `rate_limited` or `invalid_feed`'),
        message: z.string(),
        at: time,
      })
      .nullable()
      .describe('What the last run failed of; null since a run succeeded'),
    items_seen: z.int().describe('Posts that were read and matched, each once'),
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
}

/** Where every source begins. */
export const START_POSITION: SourcePosition = { etag: null, lastModified: null, newestAt: null, seen: [] };

/** Why a run failed; `at` in Unix milliseconds. */
export interface SourceError {
  code: string;
  message: string;
  at: number;
}

/** A source as stored. Times are Unix milliseconds; `version` grows with every change of a caller. */
export interface Source {
  id: string;
  tenantId: string;
  kind: SourceKind;
  name: string;
  settings: SourceSettings;
  profileIds: string[];
  intervalSeconds: number;
  status: z.infer<typeof statusSchema>;
  nextPollAt: number;
  lastRunAt: number | null;
  lastSuccessAt: number | null;
  lastError: SourceError | null;
  /** Runs that failed since the last that did not. */
  failures: number;
  itemsSeen: number;
  signalsMade: number;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** What names of sources are compared by. */
export function sourceNameKey(name: string): string {
  return fold(name);
}

/** A source as every API shows it. */
export function sourceResource(source: Source): SourceResource {
  const { lastError } = source;
  return {
    id: source.id,
    kind: source.kind,
    name: source.name,
    ...source.settings,
    icp_profile_ids: source.profileIds,
    interval_seconds: source.intervalSeconds,
    status: source.status,
    last_run_at: isoOrNull(source.lastRunAt),
    last_success_at: isoOrNull(source.lastSuccessAt),
    next_poll_at: source.status === 'paused' ? null : toIso(source.nextPollAt),
    last_error: lastError && { code: lastError.code, message: lastError.message, at: toIso(lastError.at) },
    items_seen: source.itemsSeen,
    signals_made: source.signalsMade,
    created_at: toIso(source.createdAt),
    updated_at: toIso(source.updatedAt),
  };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : toIso(ms);
}
