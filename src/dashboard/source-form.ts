import { parseUrl } from '../lib/text.ts';
import {
  SECRET_NAMES,
  SETTINGS_OF,
  type SettingName,
  SOURCE_KINDS,
  type SourceKind,
  type SourceResource,
} from '../model/source.ts';
import { readPlaces } from '../signals/places.ts';
import { closedPlaceAt, closedPlaceWords } from '../signals/source-management.ts';
import { type Form, number, text, texts } from './forms.ts';

const KIND_WORDS: Readonly<Record<SourceKind, string>> = {
  rss: 'Feed (RSS or Atom)',
  hackernews: 'Hacker News search',
  hackernews_hiring: 'Hacker News: Who is hiring?',
  stackexchange: 'Stack Exchange',
  greenhouse: 'Greenhouse job board',
  lever: 'Lever job board',
  ashby: 'Ashby job board',
  smartrecruiters: 'SmartRecruiters job board',
  recruitee: 'Recruitee job board',
  workable: 'Workable job board',
  sec_form_d: 'SEC Form D filings',
  discourse: 'Discourse forum',
  lemmy: 'Lemmy',
  mastodon: 'Mastodon tag',
  lobsters: 'Lobsters',
  github: 'GitHub issues',
  bluesky: 'Bluesky',
  reddit: 'Reddit',
};

/** The label of a kind of source. */
export function kindWords(kind: SourceKind): string {
  return KIND_WORDS[kind];
}

const LABELS: Readonly<Record<SettingName, string>> = {
  url: 'Address',
  query: 'Search words',
  site: 'Site',
  tagged: 'Tags (up to five)',
  board: 'Company name in the job board’s address',
  tag: 'Tag (without #)',
  subreddit: 'Subreddit',
  client_id: 'App ID',
  client_secret: 'App secret',
  token: 'Token (optional, for a larger quota)',
  key: 'Key (optional, for a larger quota)',
};

/**
 * The fields of all kinds, each with the kinds that have it: without a script, fields of other kinds cannot be
 * hidden.
 */
export const SOURCE_FIELDS = (Object.keys(LABELS) as SettingName[]).map((name) => ({
  name,
  label: LABELS[name],
  kinds: SOURCE_KINDS.filter((kind) => SETTINGS_OF[kind].takes.includes(name)),
  isSecret: isSecret(name),
}));

/** The fields of an existing source; its kind cannot change. */
export function fieldsOf(kind: SourceKind) {
  return SOURCE_FIELDS.filter(({ kinds }) => kinds.includes(kind));
}

/** The form of an existing source. Secrets are never shown: an empty field keeps the stored one. */
export function formOfSource(source: SourceResource): Form {
  const form: Form = {
    name: source.name,
    interval: String(source.interval_seconds / 60),
    max_age_days: String(source.max_age_days),
    icp_profile_ids: source.icp_profile_ids,
  };
  for (const { name, isSecret } of fieldsOf(source.kind)) {
    const value = isSecret ? '' : (source[name as keyof SourceResource] ?? '');
    form[name] = Array.isArray(value) ? value.join(' ') : String(value);
  }
  return form;
}

/** The form of a new source as a `/v1` body, not yet validated. Empty fields are omitted. */
export function newSourceOf(form: Form, kind: SourceKind): unknown {
  const given = SETTINGS_OF[kind].takes.flatMap((name) => {
    const value = settingOf(form, name);
    return value === null ? [] : [[name, value] as const];
  });
  return { kind, ...commonOf(form), ...Object.fromEntries(given) };
}

/**
 * The changes to a source that a form contains. A cleared field unsets its setting, except for secrets, which are
 * kept.
 */
export function sourcePatchOf(form: Form, kind: SourceKind): unknown {
  const given = SETTINGS_OF[kind].takes
    .map((name) => [name, settingOf(form, name)] as const)
    .filter(([name, value]) => value !== null || !isSecret(name));
  return { ...commonOf(form), ...Object.fromEntries(given) };
}

function commonOf(form: Form) {
  const minutes = number(form, 'interval');
  const days = number(form, 'max_age_days');
  return {
    name: text(form, 'name'),
    icp_profile_ids: texts(form, 'icp_profile_ids'),
    ...(minutes === null ? {} : { interval_seconds: typeof minutes === 'number' ? minutes * 60 : minutes }),
    ...(days === null ? {} : { max_age_days: days }),
  };
}

function settingOf(form: Form, name: SettingName): string | string[] | null {
  const value = text(form, name).trim();
  if (value === '') return null;
  return name === 'tagged' ? value.split(/[\s,]+/) : value;
}

function isSecret(name: SettingName): boolean {
  return SECRET_NAMES.some((secret) => secret === name);
}

/** URL patterns and the kind of source that reads them. The first capture group is the value of the setting. */
const PLACES: [pattern: RegExp, kind: SourceKind, setting: string][] = [
  [/^(?:job-boards|boards)\.greenhouse\.io\/([\w.-]+)/, 'greenhouse', 'board'],
  [/^jobs\.lever\.co\/([\w.-]+)/, 'lever', 'board'],
  [/^jobs\.ashbyhq\.com\/([\w.-]+)/, 'ashby', 'board'],
  [/^(?:careers|jobs)\.smartrecruiters\.com\/([\w.-]+)/, 'smartrecruiters', 'board'],
  [/^([\w-]+)\.recruitee\.com/, 'recruitee', 'board'],
  [/^apply\.workable\.com\/([\w.-]+)/, 'workable', 'board'],
  [/^(?:\w+\.)?reddit\.com\/r\/(\w+)/, 'reddit', 'subreddit'],
  [/^lobste\.rs\/t\/([\w.+-]+)/, 'lobsters', 'tag'],
  [/^([a-z]+)\.stackexchange\.com/, 'stackexchange', 'site'],
  [/^(stackoverflow|serverfault|superuser|askubuntu)\.com/, 'stackexchange', 'site'],
  [/^bsky\.app\/search\?.*\bq=([^&]+)/, 'bluesky', 'query'],
  [/^bsky\.app()/, 'bluesky', 'query'],
  [/^github\.com\/search\?.*\bq=([^&]+)/, 'github', 'query'],
  [/^github\.com\/([\w.-]+\/[\w.-]+)/, 'github', 'query'],
  [/^(?:hn\.algolia\.com|news\.ycombinator\.com)\/?\?.*\b(?:q|query)=([^&]+)/, 'hackernews', 'query'],
  [/^(?:hn\.algolia|news\.ycombinator)\.com()/, 'hackernews', 'query'],
];

/** The form filled in from an address or a subject, for the user to check. */
export interface Guess {
  form: Form;
  /** Why the place cannot be read, and what to do instead; null if it may be readable. */
  refusal: string | null;
  /** True if it is treated as a feed only because it is an address. */
  isBareAddress: boolean;
}

/**
 * Fills in the form of a new source from an address or a subject: known places get their own kind, other addresses
 * are read as feeds, and words become a search on Hacker News.
 */
export function guessSource(typed: string): Guess {
  const given = typed.trim();
  const guessed = (form: Form) => ({ form, refusal: null, isBareAddress: false });
  const subreddit = /^\/?r\/(\w{2,24})\/?$/i.exec(given)?.[1];
  if (subreddit !== undefined) return guessed({ kind: 'reddit', name: `r/${subreddit}`, subreddit });
  const hashtag = /^#([\p{L}\p{N}_]{1,100})$/u.exec(given)?.[1];
  if (hashtag !== undefined)
    return guessed({
      kind: 'mastodon',
      name: `#${hashtag} on mastodon.social`,
      url: 'https://mastodon.social',
      tag: hashtag,
    });
  const url = addressOf(given);
  if (url === null)
    return guessed({ kind: 'hackernews', name: `Hacker News: ${given}`.slice(0, 200), query: given });
  const closed = closedPlaceAt(url.href);
  if (closed !== null)
    return {
      form: { name: closed, url: url.href },
      refusal: closedPlaceWords(closed),
      isBareAddress: false,
    };
  const form = formOfPlace(url) ?? formOfKnownHost(url) ?? formOfTag(url);
  return form === null
    ? { form: { kind: 'rss', name: url.host, url: url.href }, refusal: null, isBareAddress: true }
    : guessed(form);
}

function formOfPlace(url: URL): Form | null {
  const place = url.host.replace(/^www\./, '') + url.pathname + url.search;
  for (const [pattern, kind, setting] of PLACES) {
    const found = pattern.exec(place)?.[1];
    if (found === undefined) continue;
    const value =
      (kind === 'github' && setting === 'query' && !place.includes('q=') ? 'repo:' : '') + decode(found);
    const tag = /\/tagged\/([^/?]+)/.exec(place)?.[1];
    return {
      kind,
      name: setting === 'subreddit' ? `r/${value}` : `${kindWords(kind)}: ${value || url.host}`,
      [setting]: value,
      ...(tag === undefined ? {} : { tagged: decode(tag).replaceAll('+', ' ') }),
    };
  }
  return null;
}

/** A forum or instance in the catalogue: its address alone does not reveal the software it runs. */
function formOfKnownHost(url: URL): Form | null {
  const known = readPlaces().find(
    ({ kind, settings }) =>
      (kind === 'discourse' || kind === 'lemmy') && URL.parse(settings.url ?? '')?.host === url.host,
  );
  if (known === undefined || /\.(?:rss|xml|atom|json)$/.test(url.pathname)) return null;
  return { kind: known.kind, name: known.kind === 'discourse' ? known.name : url.host, url: url.origin };
}

function formOfTag(url: URL): Form | null {
  const tag = /^\/tags\/([^/]+)\/?$/.exec(url.pathname)?.[1];
  if (tag === undefined) return null;
  return { kind: 'mastodon', name: `#${decode(tag)} on ${url.host}`, url: url.origin, tag: decode(tag) };
}

/** An address, with or without a scheme; null if the text is not an address. */
function addressOf(given: string): URL | null {
  if (/\s/.test(given)) return null;
  if (/^https?:\/\//i.test(given)) return parseUrl(given);
  return /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/?].*)?$/i.test(given) ? URL.parse(`https://${given}`) : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
