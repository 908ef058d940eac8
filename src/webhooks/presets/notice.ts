import type { Classification } from '../../model/signal.ts';

/** What an event says to a person, before a service's own form: plain text throughout, nothing escaped yet. */
export interface Notice {
  /** One line that says it all where nothing else is shown. */
  title: string;
  /** A sentence more; empty where the title and the entries say it. */
  text: string;
  entries: readonly NoticeEntry[];
  /** Further entries that are not shown. */
  more: number;
  /** Where all of it is seen; empty: nowhere. */
  url: string;
  tone: Classification | 'plain';
}

/** One signal of a notice. */
export interface NoticeEntry {
  title: string;
  /** The post's own words; empty if the reason replaces them. */
  text: string;
  /** Why it is a signal, in a sentence; empty where that is not known. */
  reason: string;
  /** What can be done about it by a link; none where the message has none. */
  acts: readonly (readonly [label: string, url: string])[];
  /** What is known, by its name; nothing that is empty. */
  facts: readonly (readonly [name: string, value: string])[];
  /** The signal in the dashboard. */
  url: string;
  /** The post itself; empty where it has no address. */
  postUrl: string;
}

/** A notice of one sentence. */
export function plainNotice(title: string, text = ''): Notice {
  return { title, text, entries: [], more: 0, url: '', tone: 'plain' };
}

/** As many entries as there is room for, each as `form` writes it; what is left out is counted. */
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

/** What says that there is more; empty where there is not. */
export function moreText(more: number): string {
  return more === 0 ? '' : `and ${more} more`;
}
