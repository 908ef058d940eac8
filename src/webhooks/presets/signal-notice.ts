import { excerpt } from '../../lib/text.ts';
import { CLASSIFICATIONS } from '../../model/constants.ts';
import type { DigestData } from '../../model/event-resource.ts';
import type { Classification, Signal } from '../../model/signal.ts';
import type { Notice, NoticeEntry } from './notice.ts';

/** Entries of one message: what all services have room for. */
export const MAX_ENTRIES = 20;
/** Of a post where several stand in one message. */
const SHORT_CODE_POINTS = 200;

const CLASS_WORDS: Record<Classification, string> = { hot: 'Hot', warm: 'Warm', cold: 'Cold' };

/** What a message says of a signal beside what every payload has. */
export interface SignalStory {
  headline: string;
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

/** A signal and what a message says of it; null: no more than its payload. */
export interface ToldSignal {
  signal: Signal;
  story: SignalStory | null;
}

/** Several signals for one message. */
export interface BatchedNews {
  counts: Record<Classification, number>;
  /** The best of them, best first. */
  best: readonly ToldSignal[];
  /** Where all of them are seen. */
  url: string;
}

/** Several signals in one message. */
export function batchNotice({ counts, best, url }: BatchedNews): Notice {
  const [first] = best;
  const all = CLASSIFICATIONS.reduce((sum, name) => sum + counts[name], 0);
  if (all === 1 && first !== undefined) return signalNotice(first.signal, first.story);
  const told = CLASSIFICATIONS.filter((name) => counts[name] > 0).map((name) => `${counts[name]} ${name}`);
  return {
    title: `${all} new signals: ${told.join(', ')}`,
    text: '',
    entries: best.map(listedEntry),
    more: Math.max(0, all - best.length),
    url,
    tone: first?.signal.classification ?? 'plain',
  };
}

/** The digest of a day; `told` are its signals where more is known of them than its data says. */
export function digestNotice(
  { date, counts, signals, url }: DigestData,
  told: readonly ToldSignal[] = [],
): Notice {
  const stored = new Map(told.map((each) => [each.signal.signal_id, each]));
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

/** One of several: there is room for the reason or the post's words, and for thumbs; the pipeline is one click further. */
function listedEntry({ signal, story }: ToldSignal): NoticeEntry {
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
    ['Seen on', platform.name],
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

/** Whom it is about, in as few words as are known. */
function about({ company, prospect, platform }: Signal): string {
  return company.name || prospect.name || company.domain || `a post on ${platform.name}`;
}

function shortened(text: string): string {
  return excerpt(text, SHORT_CODE_POINTS);
}
