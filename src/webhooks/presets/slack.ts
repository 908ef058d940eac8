import { moreText, type Notice, type NoticeEntry } from './notice.ts';
import { cutTo, isWebUrl, oneLine } from './plain-text.ts';

/** Block Kit's limits: https://docs.slack.dev/reference/block-kit/blocks */
const MAX_HEADER = 150;
const MAX_TITLE = 500;
const MAX_QUOTE = 1_500;
const MAX_CONTEXT = 1_500;

/**
 * Text of all entries together: Slack refuses blocks of some 12,000 to 13,000 characters as too long, addresses counted, and
 * documents no limit.
 */
const MAX_ENTRIES_CHARS = 11_000;

/** A message of an incoming webhook. `text` is what notifications and screen readers are given. */
export function slackMessage(notice: Notice): object {
  const { title, text, entries, url } = notice;
  const shown = fitting(entries.map((entry) => entryBlocks(entry, entries.length === 1)));
  const more = notice.more + entries.length - shown.length;
  const last = [moreText(more), entries.length === 1 ? '' : link(url, 'Open in Signalpost')];
  return {
    text: cutTo(oneLine(title), { max: MAX_TITLE, escape: escapeMarkup }),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutTo(oneLine(title), { max: MAX_HEADER }) } },
      ...section(cutTo(oneLine(text), { max: MAX_QUOTE, escape: escapeMarkup })),
      ...shown.flat(),
      ...context(last.filter((part) => part !== '').join(' · ')),
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** As many entries, from the first on, as there is room for. */
function fitting(entries: readonly object[][]): object[][] {
  let chars = 0;
  const end = entries.findIndex((blocks) => {
    chars += JSON.stringify(blocks).length;
    return chars > MAX_ENTRIES_CHARS;
  });
  return end === -1 ? [...entries] : entries.slice(0, Math.max(1, end));
}

function entryBlocks(entry: NoticeEntry, isAlone: boolean): object[] {
  const title = isAlone ? '' : `*${link(entry.url, oneLine(entry.title))}*\n`;
  const quote = cutTo(oneLine(entry.text), { max: MAX_QUOTE, escape: escapeMarkup });
  const facts = entry.facts.map(([name, value]) => `${name}: ${oneLine(value)}`).join(' · ');
  const links = [
    ...entry.acts.map(([label, url]) => link(url, label)),
    link(entry.postUrl, 'View post'),
    isAlone ? link(entry.url, 'Open in Signalpost') : '',
  ];
  const reason = cutTo(oneLine(entry.reason), { max: MAX_TITLE, escape: escapeMarkup });
  const below = [cutTo(facts, { max: MAX_CONTEXT, escape: escapeMarkup }), ...links].filter(
    (part) => part !== '',
  );
  return [
    ...section(`${title}${reason === '' ? '' : `*${reason}*\n`}${quote === '' ? '' : `>${quote}`}`.trimEnd()),
    ...context(below.join(' · ')),
  ];
}

function section(text: string): object[] {
  return text === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text } }];
}

function context(text: string): object[] {
  return text === '' ? [] : [{ type: 'context', elements: [{ type: 'mrkdwn', text }] }];
}

/** The three characters that are markup; without them, no one is mentioned: https://docs.slack.dev/messaging/formatting-message-text */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Nothing where there is no address, or one that is too long for its block. */
function link(url: string, label: string): string {
  const words = cutTo(label, { max: MAX_TITLE, escape: escapeMarkup });
  if (!isWebUrl(url) || url.length > 600) return label === '' || url === '' ? '' : words;
  const address = new URL(url).href.replaceAll('|', '%7C').replaceAll('>', '%3E').replaceAll('&', '&amp;');
  return `<${address}|${words.replaceAll('|', '¦')}>`;
}
