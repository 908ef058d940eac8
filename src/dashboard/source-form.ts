import {
  SECRET_NAMES,
  SETTINGS_OF,
  type SettingName,
  SOURCE_KINDS,
  type SourceKind,
  type SourceResource,
} from '../model/source.ts';
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

/** What people call a kind of source. */
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

/** The fields of all kinds, each with the kinds that take it: without script, nobody can hide those of others. */
export const SOURCE_FIELDS = (Object.keys(LABELS) as SettingName[]).map((name) => ({
  name,
  label: LABELS[name],
  kinds: SOURCE_KINDS.filter((kind) => SETTINGS_OF[kind].takes.includes(name)),
  isSecret: isSecret(name),
}));

/** The fields of a source that is there; its kind stays. */
export function fieldsOf(kind: SourceKind) {
  return SOURCE_FIELDS.filter(({ kinds }) => kinds.includes(kind));
}

/** The form of a source that is there. Secrets are never shown: an empty field leaves them as they are. */
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

/** What a form says of a source of a kind, as `/v1` takes it; to be checked. An empty field is left out. */
export function newSourceOf(form: Form, kind: SourceKind): unknown {
  const given = SETTINGS_OF[kind].takes.flatMap((name) => {
    const value = settingOf(form, name);
    return value === null ? [] : [[name, value] as const];
  });
  return { kind, ...commonOf(form), ...Object.fromEntries(given) };
}

/** What a form changes of a source; an emptied field is none, but a secret stays. */
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
