import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { NO_SETTINGS } from './constants.ts';
import { requiredLine, webUrl } from './text.ts';

export const SOURCE_KINDS = [
  'rss',
  'hackernews',
  'hackernews_hiring',
  'stackexchange',
  'greenhouse',
  'lever',
  'ashby',
  'smartrecruiters',
  'recruitee',
  'workable',
  'sec_form_d',
  'discourse',
  'lemmy',
  'mastodon',
  'lobsters',
  'github',
  'bluesky',
  'reddit',
] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export const kindSchema = z
  .enum(SOURCE_KINDS)
  .describe(
    [
      'Kind of source. `rss`: any RSS, Atom, RDF or JSON feed. `hackernews`: search of stories and comments. `hackernews_hiring`:',
      'the monthly "Who is hiring?" thread. `stackexchange`: questions on a Stack Exchange site. `greenhouse`, `lever`, `ashby`,',
      '`smartrecruiters`, `recruitee`, `workable`: open jobs of a company. `sec_form_d`: notices of private offerings in the USA.',
      '`discourse`, `lemmy`: posts of a forum or instance. `mastodon`: a tag on an instance. `lobsters`: stories. `github`: issues.',
      '`bluesky`: posts, in real time. `reddit`: posts of a subreddit, with an app of your own.',
    ].join(' '),
  );

const tagSchema = z
  .string()
  .trim()
  .toLowerCase()
  .max(100)
  // Not a pattern in the OpenAPI document, because not every language supports \p.
  .refine((text) => /^[\p{L}\p{N}_.+-]+$/u.test(text), 'must be a tag without # and spaces');

const credential = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .regex(/^[!-~]+$/, 'must be printable ASCII without spaces');

/** The settings of all kinds; {@link SETTINGS_OF} lists those of each. */
const settingsSchemas = {
  url: webUrl.describe(
    '`rss`: URL of the feed. `discourse`, `lemmy`, `mastodon`: URL of the forum or instance.',
  ),
  query: requiredLine(300).describe(
    'Words to search for. For `bluesky` and `sec_form_d`, all of them must occur.',
  ),
  site: z
    .string()
    .trim()
    .toLowerCase()
    .max(64)
    .regex(/^[a-z0-9][a-z0-9.-]{0,63}$/, 'must be a site such as "stackoverflow" or "softwarerecs"')
    .describe('`stackexchange`: the site, by its name in the Stack Exchange API, such as `softwarerecs`.'),
  tagged: z
    .array(
      z
        .string()
        .trim()
        .toLowerCase()
        .max(35)
        .regex(/^[^\s;,]{1,35}$/, 'must be a tag without spaces'),
    )
    .max(5)
    .describe('`stackexchange`: tags, of which a question must have at least one.'),
  board: z
    .string()
    .trim()
    .max(100)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be the name of the board in its URL')
    .describe("Job boards: the company's name in the URL of its job board."),
  tag: tagSchema.describe('`mastodon`, `lobsters`: the tag, without `#`.'),
  subreddit: z
    .string()
    .trim()
    .max(30)
    .transform((name) => name.replace(/^\/?r\//i, ''))
    .pipe(z.string().regex(/^[A-Za-z0-9_]{2,24}$/, 'must be a subreddit such as "hvac"'))
    .describe('`reddit`: the subreddit, such as `hvac`.'),
  client_id: credential.describe('`reddit`: client ID of your app.'),
};

/** Settings that are encrypted at rest and never shown. */
const secretSchemas = {
  client_secret: credential.describe(
    '`reddit`: client secret of your app. Encrypted at rest, never returned.',
  ),
  token: credential.describe(
    '`github`: an access token, for a larger quota. Encrypted at rest, never returned.',
  ),
  key: credential.describe(
    '`stackexchange`: an API key, for a larger quota. Encrypted at rest, never returned.',
  ),
};

export type PlainSettingName = keyof typeof settingsSchemas;
export type SecretName = keyof typeof secretSchemas;
export type SettingName = PlainSettingName | SecretName;
export const SECRET_NAMES = Object.keys(secretSchemas) as SecretName[];

/** The settings that are not secret. Those that the kind does not accept are null. */
export interface SourceSettings {
  url: string | null;
  query: string | null;
  site: string | null;
  tagged: string[] | null;
  board: string | null;
  tag: string | null;
  subreddit: string | null;
  client_id: string | null;
}

/** The settings that each kind requires and accepts. */
export const SETTINGS_OF: Record<SourceKind, { needs: SettingName[]; takes: SettingName[] }> = {
  rss: { needs: ['url'], takes: ['url'] },
  hackernews: { needs: ['query'], takes: ['query'] },
  hackernews_hiring: { needs: ['query'], takes: ['query'] },
  stackexchange: { needs: ['site'], takes: ['site', 'tagged', 'query', 'key'] },
  greenhouse: { needs: ['board'], takes: ['board'] },
  lever: { needs: ['board'], takes: ['board'] },
  ashby: { needs: ['board'], takes: ['board'] },
  smartrecruiters: { needs: ['board'], takes: ['board'] },
  recruitee: { needs: ['board'], takes: ['board'] },
  workable: { needs: ['board'], takes: ['board'] },
  sec_form_d: { needs: [], takes: ['query'] },
  discourse: { needs: ['url'], takes: ['url', 'query'] },
  lemmy: { needs: ['url'], takes: ['url', 'query'] },
  mastodon: { needs: ['url', 'tag'], takes: ['url', 'tag'] },
  lobsters: { needs: [], takes: ['tag'] },
  github: { needs: ['query'], takes: ['query', 'token'] },
  bluesky: { needs: ['query'], takes: ['query'] },
  reddit: {
    needs: ['subreddit', 'client_id', 'client_secret'],
    takes: ['subreddit', 'query', 'client_id', 'client_secret'],
  },
};

/** Settings in request bodies. Null means none, so a source that was read can be sent back. */
const givenSettings = {
  url: settingsSchemas.url.nullable().optional(),
  query: settingsSchemas.query.nullable().optional(),
  site: settingsSchemas.site.nullable().optional(),
  tagged: settingsSchemas.tagged.nullable().optional(),
  board: settingsSchemas.board.nullable().optional(),
  tag: settingsSchemas.tag.nullable().optional(),
  subreddit: settingsSchemas.subreddit.nullable().optional(),
  client_id: settingsSchemas.client_id.nullable().optional(),
  client_secret: secretSchemas.client_secret.nullable().optional(),
  token: secretSchemas.token.nullable().optional(),
  key: secretSchemas.key.nullable().optional(),
};

/** Settings in request bodies. */
export type GivenSettings = {
  [Name in PlainSettingName]?: SourceSettings[Name] | undefined;
} & { [Name in SecretName]?: string | null | undefined };

/** How to resolve each error of a source. */
const HINTS: Record<string, string> = {
  timeout:
    'No action is needed if this happens now and then: the source is retried. Otherwise open the URL in a browser; the host may be slow or down.',
  connection_refused: 'Check that the URL is right and the site is up. The source is retried.',
  connection_reset: 'The site may be down or block programs. The source is retried.',
  dns: 'Check the spelling of the host name.',
  tls: "The site's certificate is not valid. Notify its owner, or use another URL.",
  blocked_target: 'Use a URL on the public internet, with port 80, 443, 8080 or 8443.',
  invalid_response: 'Open the URL in a browser; if that works, the site may block programs.',
  network: 'No action is needed if this happens now and then: the source is retried.',
  process_ended:
    'No action is needed if the operator restarted the server. Otherwise the response may be too much for it: use another feed of the site.',
  document_too_costly:
    'Open the URL in a browser: the response is broken, or made to keep its readers busy. Use another feed of the site, or delete the source.',
  too_large: 'Use a smaller feed of the site, such as one for a category.',
  http_status: 'Open the URL in a browser. If the page is gone, find its new URL and change the source.',
  unauthorized: 'Check the key, token or app of the source at the service, and set it again.',
  rate_limited:
    'No action is needed: the source is read when the pause is over. With many sources of one service, use longer intervals or set a key.',
  robots_disallowed:
    'The site does not allow programs to read it. Use its API as a source of another kind, or send posts to POST /v1/signals.',
  robots_unreachable:
    'The source is retried. If the error persists, notify the owner of the site that its robots.txt cannot be read.',
  too_many_redirects: 'Open the URL in a browser and use the one that it ends at.',
  invalid_feed: 'Open the URL in a browser and look for the URL of its RSS or Atom feed.',
  invalid_answer:
    'Check that the URL or name belongs to this service. The service may also have changed its responses.',
  details_unavailable:
    'No action is needed: the other items were read, and these are requested again. Items read without details have only a title.',
  no_active_profile:
    'Activate one of its profiles, or clear "icp_profile_ids" to match posts with all active profiles.',
  plan_ceiling:
    'Upgrade your plan. Posts published in the meantime are read then, as far as the site still shows them.',
  internal: 'No action is needed: the source is retried. Contact us if the error persists.',
};

/** How to resolve an error of a source, in plain words. */
export function hintFor(code: string): string {
  return HINTS[code] ?? 'The source is retried, at growing intervals.';
}

const statusSchema = z.enum(['active', 'paused']);

const INTERVAL = { min: 60, max: 86_400, default: 900 };

const nameSchema = requiredLine(200);
const intervalSchema = z
  .int()
  .min(INTERVAL.min)
  .max(INTERVAL.max)
  .describe('Interval between two runs, in seconds. A failing source is read less often.');
const profilesSchema = z
  .array(z.string().max(100))
  .max(100)
  .transform((ids) => [...new Set(ids)])
  .describe('IDs of the profiles to match posts with. Empty: all active profiles.');

const maxAgeSchema = z
  .int()
  .min(1)
  .max(90)
  .describe('Maximum age of a post, in days. Older posts create no signals.');

/** Body of `POST /v1/sources`. */
export const sourceInputSchema = z.strictObject({
  kind: kindSchema,
  name: nameSchema.describe('Name of the source.'),
  ...givenSettings,
  icp_profile_ids: profilesSchema.default([]),
  interval_seconds: intervalSchema.default(INTERVAL.default),
  max_age_days: maxAgeSchema.default(7),
  active: z.boolean().default(true).describe('Whether the source starts active; `false` creates it paused.'),
});
export type SourceInput = z.output<typeof sourceInputSchema>;

/** Body of `PATCH /v1/sources/{id}`: omitted members stay as they are. */
export const sourcePatchSchema = z.strictObject({
  name: nameSchema.optional().describe('Name of the source.'),
  ...givenSettings,
  icp_profile_ids: profilesSchema.optional(),
  interval_seconds: intervalSchema.optional(),
  max_age_days: maxAgeSchema.optional(),
  active: z.boolean().optional().describe('`false` pauses the source, `true` resumes it.'),
});
export type SourcePatch = z.output<typeof sourcePatchSchema>;

const time = z.iso.datetime();

/** Why a run failed, and what to do about it. */
const sourceErrorSchema = z
  .strictObject({
    code: z
      .string()
      .describe('Machine-readable code, such as `timeout`, `http_status`, `rate_limited` or `invalid_feed`.'),
    message: z.string().describe('Description of the error.'),
    hint: z.string().describe('How to resolve the error.'),
    at: time.describe('When the error occurred.'),
  })
  .meta({ id: 'SourceError', description: 'Why a source could not be read, and how to resolve it.' });

/** A run of a source as returned by every API. */
export const sourceRunSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the run.'),
    started_at: time.describe('When the run started.'),
    ended_at: time.describe('When the run ended.'),
    status: z.enum(['succeeded', 'failed']).describe('Result of the run.'),
    error: sourceErrorSchema.nullable().describe('Why the run failed; `null` if it succeeded.'),
    items_seen: z.int().describe('Number of new posts read.'),
    items_matched: z.int().describe('Number of these posts that were `hot` or `warm` for a profile.'),
    signals_made: z.int().describe('Number of signals created.'),
  })
  .meta({ id: 'SourceRun', description: 'One run of a source.' });
export type SourceRunResource = z.infer<typeof sourceRunSchema>;

/** The state of a source before its first run. */
export const NEVER_READ = {
  lastRunAt: null,
  lastSuccessAt: null,
  lastError: null,
  failures: 0,
  failingSince: null,
  quota: null,
  itemsSeen: 0,
  itemsMatched: 0,
  itemsRelevant: 0,
  signalsMade: 0,
  version: 1,
} as const satisfies Partial<Source>;

/** A source as returned by every API. */
export const sourceSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the source.'),
    kind: kindSchema,
    name: z.string().describe('Name of the source.'),
    url: z
      .string()
      .nullable()
      .describe('URL of the feed, forum or instance; `null` if the kind has no such setting.'),
    query: z.string().nullable().describe('Words to search for; `null` if not set.'),
    site: z.string().nullable().describe('Stack Exchange site; `null` if not set.'),
    tagged: z
      .array(z.string())
      .nullable()
      .describe('Stack Exchange tags, of which a question has at least one; `null` if not set.'),
    board: z.string().nullable().describe('Name of the company on its job board; `null` if not set.'),
    tag: z.string().nullable().describe('Tag to read, without `#`; `null` if not set.'),
    subreddit: z.string().nullable().describe('Subreddit to read; `null` if not set.'),
    client_id: z.string().nullable().describe('Client ID of your Reddit app; `null` if not set.'),
    secrets: z
      .array(z.enum(SECRET_NAMES))
      .describe('Which of `client_secret`, `token` and `key` are set. Their values are never returned.'),
    icp_profile_ids: z
      .array(z.string())
      .describe('IDs of the profiles that posts are matched with. Empty: all active profiles.'),
    interval_seconds: z.int().describe('Interval between two runs, in seconds.'),
    max_age_days: z.int().describe('Maximum age of a post, in days. Older posts create no signals.'),
    status: statusSchema.describe('Status of the source. A `paused` source is not read.'),
    last_run_at: time.nullable().describe('When the last run ended; `null` if there was none.'),
    last_success_at: time
      .nullable()
      .describe('When the last successful run ended; `null` if there was none.'),
    next_poll_at: time.nullable().describe('When the next run is due; `null` while the source is paused.'),
    last_error: sourceErrorSchema.nullable().describe('Why the last run failed; `null` if it succeeded.'),
    failing_since: time
      .nullable()
      .describe('When the first failed run since the last success ended; `null` if the last run succeeded.'),
    quota: z
      .strictObject({
        remaining: z.int().describe('Number of requests left.'),
        limit: z
          .int()
          .nullable()
          .describe('Total number of requests; `null` if the service does not report it.'),
        at: time.describe('When the service reported the quota.'),
      })
      .nullable()
      .describe('Request quota, as last reported by the service; `null` if it reports none.'),
    items_seen: z.int().describe('Number of posts read so far.'),
    items_matched: z.int().describe('Number of these posts that were `hot` or `warm` for a profile.'),
    items_relevant: z.int().describe('Number of signals from this source that feedback marked as relevant.'),
    signals_made: z.int().describe('Number of signals created so far.'),
    created_at: time.describe('When the source was created.'),
    updated_at: time.describe('When the settings of the source were last changed.'),
  })
  .meta({ id: 'Source', description: 'A place on the web that posts are read from.' });
export type SourceResource = z.infer<typeof sourceSchema>;

/** The position up to which a source was read. */
export interface SourcePosition {
  /** Validators of the last complete response (RFC 9110, section 8.8). */
  etag: string | null;
  lastModified: string | null;
  /** Time of the newest item, Unix milliseconds, if the source can be asked for newer ones only. */
  newestAt: number | null;
  /** Keys of items already read, newest first. */
  seen: string[];
  /** Other state that the reader of this kind needs to continue. */
  cursor: string | null;
}

/** Why a run failed; `at` in Unix milliseconds. */
export interface SourceError {
  code: string;
  message: string;
  at: number;
}

/** Request quota as a service reports it; `at` in Unix milliseconds. */
export interface SourceQuota {
  remaining: number;
  limit: number | null;
  at: number;
}

/** A completed run as stored. Times are Unix milliseconds. */
export interface EndedRun {
  id: string;
  startedAt: number;
  endedAt: number;
  error: SourceError | null;
  itemsSeen: number;
  itemsMatched: number;
  signalsMade: number;
}

/**
 * A source as stored. Times are Unix milliseconds; `version` is incremented by each change of its settings.
 */
export interface Source {
  id: string;
  tenantId: string;
  kind: SourceKind;
  name: string;
  settings: SourceSettings;
  /** Each encrypted by the secret box, in base64. */
  secrets: Partial<Record<SecretName, string>>;
  profileIds: string[];
  intervalSeconds: number;
  maxAgeDays: number;
  status: z.infer<typeof statusSchema>;
  nextPollAt: number;
  lastRunAt: number | null;
  lastSuccessAt: number | null;
  lastError: SourceError | null;
  /** Failed runs since the last success. */
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

/** Converts a source to its representation in every API. */
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

/** Converts a run to its representation in every API. */
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
