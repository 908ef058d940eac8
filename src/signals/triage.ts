import { type Clock, DAY_MS, fromIso, HOUR_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { parseRows } from '../lib/json.ts';
import { fold } from '../lib/text.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { ExplainedSignal, SignalQuery, SignalView } from '../model/signal.ts';
import { dateIn, nextDaily } from '../rules/digest-time.ts';
import type { TeamStore } from '../store/account-store.ts';
import type { SignalStore } from '../store/signal-store.ts';
import { headlineOf, type Why } from './why.ts';

/** The hour at which snoozes end. */
const MORNING = 8;
const MAX_SNOOZE_MS = 366 * DAY_MS;
const MAX_VIEWS = 20;
const MAX_NAME_CHARS = 40;
const MAX_QUERY_CHARS = 2_000;

/** The morning of a day, in Unix milliseconds. @throws DomainError */
export function morningOf(day: string, timezone: string): number {
  const start = /^\d{4}-\d\d-\d\d$/.test(day) ? fromIso(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(start))
    throw new DomainError('INVALID_REQUEST', 'Choose a day to snooze until, such as 2027-01-31.');
  const daily = { timezone, hour: MORNING };
  // Time zones differ from UTC by up to 14 hours.
  const morning = nextDaily(start - 15 * HOUR_MS, daily);
  return dateIn(timezone, morning) < day ? nextDaily(morning, daily) : morning;
}

/** Snoozes signals until a time; null ends the snooze. Returns the number of signals. @throws DomainError */
export async function snoozeSignals(
  { store, clock }: { store: SignalStore; clock: Clock },
  tenantId: string,
  { ids, until }: { ids: readonly string[]; until: number | null },
): Promise<number> {
  const ahead = until === null ? 1 : until - clock.now();
  if (ahead <= 0 || ahead > MAX_SNOOZE_MS)
    throw new DomainError('INVALID_REQUEST', 'Choose a day after today and within a year.');
  return store.triageSignals(tenantId, ids, { snoozedUntil: until });
}

/**
 * Assigns signals to a team member; an empty assignee unassigns them. Returns the number of signals. @throws
 * DomainError
 */
export async function assignSignals(
  { store }: { store: SignalStore & TeamStore },
  tenantId: string,
  { ids, assignee }: { ids: readonly string[]; assignee: string },
): Promise<number> {
  const members = assignee === '' ? [] : await store.listMembers(tenantId);
  if (assignee !== '' && !members.some(({ email }) => email === assignee))
    throw new DomainError('INVALID_REQUEST', `"${assignee}" is not the address of a member of your team.`);
  return store.triageSignals(tenantId, ids, { assignee });
}

/** Saves filters under a name, replacing those of a view with the same name. @throws DomainError */
export async function saveView(
  { store, clock, newId }: { store: SignalStore; clock: Clock; newId: NewId },
  tenantId: string,
  { name, query }: Pick<SignalView, 'name' | 'query'>,
): Promise<void> {
  const called = name.replace(/\s+/g, ' ').trim();
  if (called === '' || called.length > MAX_NAME_CHARS)
    throw new DomainError('INVALID_REQUEST', `Name the view in 1 to ${MAX_NAME_CHARS} characters.`);
  if (query.length > MAX_QUERY_CHARS)
    throw new DomainError('INVALID_REQUEST', 'These filters are too long to save as a view.');
  const views = await store.listSignalViews(tenantId);
  if (views.length >= MAX_VIEWS && !views.some((view) => view.name === called))
    throw new DomainError('INVALID_REQUEST', `A team has at most ${MAX_VIEWS} views. Delete one first.`);
  await store.saveSignalView({ id: newId('viw'), tenantId, name: called, query, createdAt: clock.now() });
}

/** Number of newest signals to compare, both with the words anywhere and with the words as a phrase. */
const COMPARED = 100;

/**
 * Signals that contain all words of `q`, best match first: the words as the headline, within the headline,
 * scattered in the headline; then by score. For common words, only the newest signals are compared, plus the
 * newest that contain the words as a phrase.
 */
export async function bestMatches(
  store: SignalStore,
  tenantId: string,
  query: Omit<SignalQuery, 'limit' | 'after' | 'explain' | 'sort'> & { q: string },
): Promise<ExplainedSignal[]> {
  const asked = { ...query, sort: '-timestamp' as const, limit: COMPARED, after: null, explain: true };
  const plain = query.q.replaceAll('"', ' ').trim();
  const pages = await Promise.all(
    (plain.includes(' ') ? [query.q, `"${plain}"`] : [query.q]).map((q) =>
      store.listSignals(tenantId, { ...asked, q }),
    ),
  );
  const found = pages.flatMap(({ json }) => parseRows<ExplainedSignal>(json));
  const once = [...new Map(found.map((signal) => [signal.signal_id, signal])).values()];
  return once
    .map((signal) => ({ signal, likeness: likenessOf(headlineOf(signal.excerpt), plain) }))
    .sort((a, b) => b.likeness - a.likeness || b.signal.icp_score - a.signal.icp_score)
    .map(({ signal }) => signal);
}

/**
 * Similarity of a headline to a search: 3 is equal, 2 contains it, below that it is the share of the words.
 */
function likenessOf(headline: string, asked: string): number {
  const words = (text: string): string[] => fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const [own, sought] = [words(headline), words(asked)];
  if (own.join(' ') === sought.join(' ')) return 3;
  if (` ${own.join(' ')} `.includes(` ${sought.join(' ')} `)) return 2;
  return sought.filter((word) => own.includes(word)).length / Math.max(1, sought.length);
}

const MAX_TEMPLATE_CHARS = 4_000;

/** The placeholders of a template, and what replaces each. */
export const REPLY_PLACEHOLDERS = {
  first_name: 'The author’s first name, or their name on the platform',
  need: 'What they want, such as “looking for a help desk”',
  headline: 'The title of their post, or the sentence that asks',
  community: 'Where they wrote it, such as “r/SaaS on Reddit”',
  offer: 'What you sell, from the profile that found the post, as a sentence',
  sender: 'The name of your account',
} as const;
export type ReplyValues = Record<keyof typeof REPLY_PLACEHOLDERS, string>;

export const DEFAULT_REPLY = `Hi {{first_name}},

I saw that you are {{need}}.
{{offer}}

Happy to answer questions here or show you how it would work for you.

{{sender}}`;

/** A tenant's reply template. */
export async function readReplyTemplate(store: SignalStore, tenantId: string): Promise<string> {
  return (await store.getReplyTemplate(tenantId)) ?? DEFAULT_REPLY;
}

/** @throws DomainError `INVALID_REQUEST` */
export async function saveReplyTemplate(
  store: SignalStore,
  tenantId: string,
  template: string,
): Promise<void> {
  const text = template.replace(/\r\n?/g, '\n').trim();
  if (text.length > MAX_TEMPLATE_CHARS)
    throw invalidAt('/template', `The template can have at most ${MAX_TEMPLATE_CHARS} characters.`);
  const names = [...text.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(REPLY_PLACEHOLDERS, name));
  if (unknown !== undefined)
    throw invalidAt(
      '/template',
      `There is no placeholder {{${unknown}}}. Use ${Object.keys(REPLY_PLACEHOLDERS).join(', ')}.`,
    );
  if (/\{\{|\}\}/.test(text.replace(/\{\{[^{}]*\}\}/g, '')))
    throw invalidAt('/template', 'A placeholder starts with {{ and ends with }}.');
  // An empty template restores the default.
  await store.saveReplyTemplate(tenantId, text === '' ? DEFAULT_REPLY : text);
}

/**
 * Drafts a reply for a person to review and send themselves. Lines with an unknown placeholder value are
 * omitted, except that an unknown name is left out alone. Pure.
 */
export function draftReply(template: string, values: ReplyValues): string {
  const lines = template.split('\n').flatMap((line) => {
    const named = [...line.matchAll(/\{\{([^{}]*)\}\}/g)].map(([, name = '']) => name.trim());
    const wordsFor = (name: string) => (values as Record<string, string>)[name] ?? '';
    if (named.some((name) => name !== 'first_name' && wordsFor(name) === '')) return [];
    return [
      line.replace(/ ?\{\{([^{}]*)\}\}/g, (all, name: string) => {
        const value = wordsFor(name.trim());
        return value === '' ? '' : (all.startsWith(' ') ? ' ' : '') + value;
      }),
    ];
  });
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/**
 * What an author wants, in the second person: "looking for a help desk for your team"; empty if the post does
 * not say.
 */
export function needOf({ reasons: [first] }: Why): string {
  if (first === undefined || first.quote === null) return '';
  const need = first.text.replace(/\btheir\b/g, 'your').replace(/\bthey\b/g, 'you');
  return need.charAt(0).toLowerCase() + need.slice(1);
}

/** The offer as a sentence for a reply; in profiles, it is often a phrase ("Help desk for small teams"). */
export function offerSentence(offer: string): string {
  const said = offer.trim();
  if (said === '') return '';
  const ended = /[.!?]$/.test(said) ? said : `${said}.`;
  if (SAYS_WHO.test(said)) return ended;
  // "SOC 2", "CRM" and "Acme" keep their capitals; "Help desk" and "An app" do not.
  const isName = /^\S*[A-Z0-9]\S*[A-Z0-9]/.test(said);
  return `We offer ${isName ? ended : ended.charAt(0).toLowerCase() + ended.slice(1)}`;
}

const SAYS_WHO =
  /^(?:we|i|our|my)\b|[.!?]\s|^(?:\S+ ){1,4}(?:is|are|helps?|lets?|makes?|gives?|keeps?|turns?|finds?|does|builds?|sells?|offers?|provides?)\b/i;

/** The name to greet a person by. */
export function firstNameOf(name: string): string {
  return name.trim().split(/\s+/)[0] ?? '';
}
