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
      '`rss`: any RSS, Atom, RDF or JSON feed. `hackernews`: search of stories and comments. `hackernews_hiring`: the monthly',
      '"Who is hiring?". `stackexchange`: questions of a site. `greenhouse`, `lever`, `ashby`, `smartrecruiters`, `recruitee`,',
      '`workable`: the open jobs of a company. `sec_form_d`: notices of private offerings in the USA. `discourse`, `lemmy`: posts of',
      'a forum or instance. `mastodon`: a tag on an instance. `lobsters`: stories. `github`: issues. `bluesky`: posts, as they are',
      'written. `reddit`: posts of a subreddit, with an app of your own.',
    ].join(' '),
  );

const tagSchema = z
  .string()
  .trim()
  .toLowerCase()
  .max(100)
  // No pattern of the description: not every language knows letters of all scripts by \p.
  .refine((text) => /^[\p{L}\p{N}_.+-]+$/u.test(text), 'must be a tag, without # and spaces');

const credential = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .regex(/^[!-~]+$/, 'must be printable ASCII without spaces');

/** What kinds ask for, each for its own; see {@link SETTINGS_OF}. */
const settingsSchemas = {
  url: webUrl.describe(
    '`rss`: address of the feed. `discourse`, `lemmy`, `mastodon`: of the forum or instance',
  ),
  query: requiredLine(300).describe(
    'Words to search for; for `bluesky` and `sec_form_d` all of them must be there',
  ),
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
    .describe("Job boards: the company's name in its board's address"),
  tag: tagSchema.describe('`mastodon`, `lobsters`: the tag, without #'),
  subreddit: z
    .string()
    .trim()
    .max(30)
    .transform((name) => name.replace(/^\/?r\//i, ''))
    .pipe(z.string().regex(/^[A-Za-z0-9_]{2,24}$/, 'must be a subreddit such as "hvac"'))
    .describe('`reddit`: the subreddit'),
  client_id: credential.describe("`reddit`: your app's id"),
};

/** Settings that are kept encrypted and never shown again. */
const secretSchemas = {
  client_secret: credential.describe("`reddit`: your app's secret. Kept encrypted, never shown"),
  token: credential.describe('`github`: a token, for a larger quota. Kept encrypted, never shown'),
  key: credential.describe('`stackexchange`: a key, for a larger quota. Kept encrypted, never shown'),
};

export type PlainSettingName = keyof typeof settingsSchemas;
export type SecretName = keyof typeof secretSchemas;
export type SettingName = PlainSettingName | SecretName;
export const SECRET_NAMES = Object.keys(secretSchemas) as SecretName[];

/** A setting that some kind asks for; those of other kinds are null. */
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

/** Which settings each kind must and may have; any other is refused. */
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

/** As they are given; null is none, as answers show those of other kinds. */
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

/** The settings of `given` that are kept in the open, as far as they are given. */
export type GivenSettings = {
  [Name in PlainSettingName]?: SourceSettings[Name] | undefined;
} & { [Name in SecretName]?: string | null | undefined };
