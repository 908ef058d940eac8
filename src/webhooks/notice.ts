import { excerpt } from '../lib/text.ts';
import { CLASSIFICATIONS } from '../model/constants.ts';
import type { EventRow } from '../model/event.ts';
import { type DigestData, EVENT_DATA } from '../model/event-resource.ts';
import type { Lead } from '../model/lead.ts';
import type { Deal } from '../model/pipeline.ts';
import type { Classification, Signal } from '../model/signal.ts';

/** The content of an event as a message, before it is formatted for a service: plain text, unescaped. */
export interface Notice {
  /** One line with the essentials, in case nothing else is displayed. */
  title: string;
  /** An additional sentence; empty if title and entries are sufficient. */
  text: string;
  entries: readonly NoticeEntry[];
  /** Number of further entries that are not shown. */
  more: number;
  /** URL of the details; empty if there is none. */
  url: string;
  tone: Classification | 'plain';
}

/** One signal of a notice. */
export interface NoticeEntry {
  title: string;
  /** The text of the post; empty if the reason replaces it. */
  text: string;
  /** Why it is a signal, in a sentence; empty if unknown. */
  reason: string;
  /** Actions as links, if there are any. */
  acts: readonly (readonly [label: string, url: string])[];
  /** Known facts by name; empty ones are omitted. */
  facts: readonly (readonly [name: string, value: string])[];
  /** The signal in the dashboard. */
  url: string;
  /** URL of the post; empty if it has none. */
  postUrl: string;
}

/** A notice of one sentence. */
function plainNotice(title: string, text = ''): Notice {
  return { title, text, entries: [], more: 0, url: '', tone: 'plain' };
}

/** As many entries as fit, formatted by `form`; omitted ones are counted. */
export function listed(
  { entries, more }: Pick<Notice, 'entries' | 'more'>,
  {
    max,
    form,
    length,
  }: { max: number; form: (entry: NoticeEntry) => string; length: (text: string) => number },
): string {
  let text = '';
  for (const [index, entry] of entries.entries()) {
    const next = `${form(entry)}\n\n`;
    if (length(text) + length(next) > max) return text + moreText(more + entries.length - index);
    text += next;
  }
  return (text + moreText(more)).trimEnd();
}

/** A note on the number of further entries; empty if there are none. */
export function moreText(more: number): string {
  return more === 0 ? '' : `and ${more} more`;
}

/** The notice of an event other than those of signals. */
export function eventNotice({ type, data: text }: Pick<EventRow, 'type' | 'data'>): Notice {
  const data: unknown = JSON.parse(text);
  switch (type) {
    case 'lead.created':
      return plainNotice(`New lead ${leadWords(EVENT_DATA[type].parse(data).current)}`);
    case 'lead.enriched': {
      const { previous, current } = EVENT_DATA[type].parse(data);
      return plainNotice(`${previous === null ? 'New lead' : 'Lead updated'}: ${leadWords(current)}`);
    }
    case 'pipeline.stage_changed': {
      const { lead, previous, current, reason, actor } = EVENT_DATA[type].parse(data);
      const why = reason === '' ? '' : `: ${reason}`;
      return plainNotice(`${leadWords(lead)}: ${previous} → ${current}`, `Moved by ${actor.name}${why}`);
    }
    case 'campaign.status_changed': {
      const { campaign_name, previous, current } = EVENT_DATA[type].parse(data);
      return plainNotice(`Campaign ${campaign_name}: ${previous} → ${current}`);
    }
    case 'reply.classified': {
      const { email, reply_class, campaign_name } = EVENT_DATA[type].parse(data);
      const words = reply_class.replaceAll('_', ' ');
      return plainNotice(
        `Reply${email === '' ? '' : ` from ${email}`}: ${words}`,
        `Campaign ${campaign_name}`,
      );
    }
    case 'deal.changed': {
      const { lead, previous, current, actor } = EVENT_DATA[type].parse(data);
      const before = previous === null ? '' : `${dealWords(previous)} → `;
      return plainNotice(
        `Deal with ${leadWords(lead)}: ${before}${dealWords(current)}`,
        `Changed by ${actor.name}`,
      );
    }
    case 'endpoint.failing': {
      const { label, host, consecutive_failures, pauses_at } = EVENT_DATA[type].parse(data);
      const when = `${consecutive_failures} attempts failed in a row. It is paused after ${pauses_at}.`;
      return plainNotice(`Webhook failing: ${label || host}`, when);
    }
    case 'endpoint.paused': {
      const { label, host, reason } = EVENT_DATA[type].parse(data);
      return plainNotice(`Webhook paused: ${label || host}`, `Reason: ${reason.replaceAll('_', ' ')}`);
    }
    case 'endpoint.recovered': {
      const { label, host } = EVENT_DATA[type].parse(data);
      return plainNotice(`Webhook recovered: ${label || host}`);
    }
    case 'delivery.dead': {
      const { label, host, event, attempt_count } = EVENT_DATA[type].parse(data);
      return plainNotice(`Not delivered: ${event} to ${label || host}`, `${attempt_count} attempts failed.`);
    }
    case 'digest.ready':
      return digestNotice(EVENT_DATA[type].parse(data));
    case 'signal.new_hot': {
      const { lead_name, platform, signal_text } = EVENT_DATA[type].parse(data);
      return plainNotice(`Hot signal: ${lead_name || `a post on ${platform}`}`, signal_text);
    }
    case 'signal.detected':
      return plainNotice('A signal was detected');
  }
}

function leadWords({ name, email, company }: Lead): string {
  const who = name || email || 'Unnamed lead';
  return company.name === '' ? who : `${who} (${company.name})`;
}

/** Formats an amount with the decimals of its currency. */
function dealWords({ amount_minor, currency, status }: Deal): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return `${format.format(amount_minor / 10 ** digits)}, ${status}`;
}

/** Maximum number of entries in one message, which all services have room for. */
export const MAX_ENTRIES = 20;
/** Maximum length of a post's text in a message with several. */
const SHORT_CODE_POINTS = 200;

const CLASS_WORDS: Record<Classification, string> = { hot: 'Hot', warm: 'Warm', cold: 'Cold' };

/** Facts for a message about a signal, in addition to the payload. */
export interface SignalStory {
  headline: string;
  /** Display name of the post's place: "r/SaaS on Reddit". */
  where: string;
  reason: string;
  acts: NoticeEntry['acts'];
}

/** One signal, for `signal.detected` and `signal.new_hot`. */
export function signalNotice(signal: Signal, story: SignalStory | null = null): Notice {
  const entry = signalEntry(signal, story);
  return {
    title: `${CLASS_WORDS[signal.classification]} signal (${signal.icp_score}): ${story?.headline ?? about(signal)}`,
    text: '',
    entries: [entry],
    more: 0,
    url: signal.profile_url,
    tone: signal.classification,
  };
}

/** A signal and its additional facts; null if there is only the payload. */
export interface DescribedSignal {
  signal: Signal;
  story: SignalStory | null;
}

/** Several signals for one message. */
export interface BatchedNews {
  counts: Record<Classification, number>;
  /** The best signals, best first. */
  best: readonly DescribedSignal[];
  /** URL of the list of all signals. */
  url: string;
}

/** Several signals in one message. */
export function batchNotice({ counts, best, url }: BatchedNews): Notice {
  const [first] = best;
  const all = CLASSIFICATIONS.reduce((sum, name) => sum + counts[name], 0);
  if (all === 1 && first !== undefined) return signalNotice(first.signal, first.story);
  const parts = CLASSIFICATIONS.filter((name) => counts[name] > 0).map((name) => `${counts[name]} ${name}`);
  return {
    title: `${all} new signals: ${parts.join(', ')}`,
    text: '',
    entries: best.map(listedEntry),
    more: Math.max(0, all - best.length),
    url,
    tone: first?.signal.classification ?? 'plain',
  };
}

/** The digest of a day; `described` are its signals with additional facts. */
export function digestNotice(
  { date, counts, signals, url }: DigestData,
  described: readonly DescribedSignal[] = [],
): Notice {
  const stored = new Map(described.map((each) => [each.signal.signal_id, each]));
  return {
    title: `Signals for ${date}: ${counts.hot} hot, ${counts.warm} warm`,
    text: '',
    entries: signals.map((signal) => {
      const known = stored.get(signal.signal_id);
      if (known !== undefined) return listedEntry(known);
      return {
        title: `${CLASS_WORDS[signal.classification]} (${signal.icp_score})${signal.company.name === '' ? '' : `: ${signal.company.name}`}`,
        text: shortened(signal.excerpt),
        ...{ reason: '', acts: [], facts: [], url: signal.profile_url, postUrl: '' },
      };
    }),
    more: Math.max(0, counts.hot + counts.warm - signals.length),
    url,
    tone: signals[0]?.classification ?? 'plain',
  };
}

/**
 * An entry among several: there is room for either the reason or the text, and for two actions; the pipeline
 * is one click away.
 */
function listedEntry({ signal, story }: DescribedSignal): NoticeEntry {
  const entry = signalEntry(signal, story);
  const text = entry.reason === '' ? shortened(signal.excerpt) : '';
  return { ...entry, text, acts: entry.acts.slice(0, 2) };
}

function signalEntry(signal: Signal, story: SignalStory | null = null): NoticeEntry {
  const { prospect, company, platform } = signal;
  const person = [prospect.name, prospect.title].filter((part) => part !== '').join(', ');
  const firm = [company.name, company.domain === '' ? '' : `(${company.domain})`]
    .filter((part) => part !== '')
    .join(' ');
  const facts: [string, string][] = [
    ['Who', person],
    ['Company', firm],
    ['Seen on', story?.where ?? platform.name],
    ['Profile', signal.icp_profile_name],
  ];
  return {
    title: `${CLASS_WORDS[signal.classification]} (${signal.icp_score}): ${story?.headline ?? about(signal)}`,
    text: signal.excerpt,
    reason: story?.reason ?? '',
    acts: story?.acts ?? [],
    facts: facts.filter(([, value]) => value !== ''),
    url: signal.profile_url,
    postUrl: platform.post_url,
  };
}

/** The author or company of a signal, as briefly as possible. */
function about({ company, prospect, platform }: Signal): string {
  return company.name || prospect.name || company.domain || `a post on ${platform.name}`;
}

function shortened(text: string): string {
  return excerpt(text, SHORT_CODE_POINTS);
}
