import { z } from 'zod';
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
  // Not a pattern in the OpenAPI description, as not every language supports \p.
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

/** The settings that are not secret; those that the kind does not take are null. */
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

/** As callers send them. Null means none, so that a source that was read can be sent back. */
export const givenSettings = {
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

/** Settings as callers send them. */
export type GivenSettings = {
  [Name in PlainSettingName]?: SourceSettings[Name] | undefined;
} & { [Name in SecretName]?: string | null | undefined };
