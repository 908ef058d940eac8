import { excerpt, parseUrl } from '../lib/text.ts';
import type { PresetFormat } from '../model/payload-shape.ts';
import { listed, moreText, type Notice, type NoticeEntry } from './notice.ts';

/** Formats a notice for a service, without the topic. The body has no `signature` member yet, which all services ignore. */
export function presetBody({ preset }: PresetFormat, notice: Notice): string {
  return JSON.stringify(message(preset, notice));
}

function message(preset: PresetFormat['preset'], notice: Notice): object {
  switch (preset) {
    case 'slack':
      return slackMessage(notice);
    case 'discord':
      return discordMessage(notice);
    case 'teams':
      return teamsMessage(notice);
    case 'ntfy':
      return ntfyMessage(notice);
  }
}

/** Block Kit's limits: https://docs.slack.dev/reference/block-kit/blocks */
const MAX_HEADER = 150;
const MAX_SLACK_TITLE = 500;
const MAX_SLACK_QUOTE = 1_500;
const MAX_CONTEXT = 1_500;

/**
 * Maximum total text of all entries: Slack rejects blocks of about 12,000 to 13,000 characters, including
 * URLs, without documenting a limit.
 */
const MAX_ENTRIES_CHARS = 11_000;

/** A message for an incoming webhook. `text` is used for notifications and screen readers. */
function slackMessage(notice: Notice): object {
  const { title, text, entries, url } = notice;
  const shown = fitting(entries.map((entry) => entryBlocks(entry, entries.length === 1)));
  const more = notice.more + entries.length - shown.length;
  const last = [moreText(more), entries.length === 1 ? '' : slackLink(url, 'Open in Signalpost')];
  return {
    text: cutTo(oneLine(title), { max: MAX_SLACK_TITLE, escape: escapeMrkdwn }),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutTo(oneLine(title), { max: MAX_HEADER }) } },
      ...section(cutTo(oneLine(text), { max: MAX_SLACK_QUOTE, escape: escapeMrkdwn })),
      ...shown.flat(),
      ...context(last.filter((part) => part !== '').join(' · ')),
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

/** The first entries, as many as fit. */
function fitting(entries: readonly object[][]): object[][] {
  let chars = 0;
  const end = entries.findIndex((blocks) => {
    chars += JSON.stringify(blocks).length;
    return chars > MAX_ENTRIES_CHARS;
  });
  return end === -1 ? [...entries] : entries.slice(0, Math.max(1, end));
}

function entryBlocks(entry: NoticeEntry, isAlone: boolean): object[] {
  const title = isAlone ? '' : `*${slackLink(entry.url, oneLine(entry.title))}*\n`;
  const quote = cutTo(oneLine(entry.text), { max: MAX_SLACK_QUOTE, escape: escapeMrkdwn });
  const facts = entry.facts.map(([name, value]) => `${name}: ${oneLine(value)}`).join(' · ');
  const links = [
    ...entry.acts.map(([label, url]) => slackLink(url, label)),
    slackLink(entry.postUrl, 'View post'),
    isAlone ? slackLink(entry.url, 'Open in Signalpost') : '',
  ];
  const reason = cutTo(oneLine(entry.reason), { max: MAX_SLACK_TITLE, escape: escapeMrkdwn });
  const below = [cutTo(facts, { max: MAX_CONTEXT, escape: escapeMrkdwn }), ...links].filter(
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

/**
 * Escapes the three characters of Slack's markup; without them, no one is mentioned:
 * https://docs.slack.dev/messaging/formatting-message-text
 */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A link; only its label if the URL is too long for the block, and an empty string without a URL. */
function slackLink(url: string, label: string): string {
  const words = cutTo(label, { max: MAX_SLACK_TITLE, escape: escapeMrkdwn });
  if (url.length > 600 || !isWebUrl(url)) return label === '' || url === '' ? '' : words;
  const address = new URL(url).href.replaceAll('|', '%7C').replaceAll('>', '%3E').replaceAll('&', '&amp;');
  return `<${address}|${words.replaceAll('|', '¦')}>`;
}

const MAX_CARD_TITLE = 300;
const MAX_CARD_QUOTE = 2_000;
const MAX_CARD_SHORT = 400;
const MAX_CARD_FACT = 500;

/**
 * A message for a workflow's webhook: an Adaptive Card of the version that Teams supports everywhere.
 * Messages can have 28 KB.
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
 */
function teamsMessage(notice: Notice): object {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: cardBody(notice),
    actions: cardActions(notice),
    msteams: { width: 'Full' },
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

function cardBody({ title, text, entries, more, tone }: Notice): object[] {
  const color = { hot: 'Attention', warm: 'Warning', cold: 'Default', plain: 'Default' }[tone];
  const head = block(cutTo(oneLine(title), { max: MAX_CARD_TITLE, escape: escapeCardText }), {
    size: 'Large',
    weight: 'Bolder',
    color,
  });
  const [first] = entries;
  const shown =
    entries.length === 1 && first !== undefined ? aloneBlocks(first) : entries.flatMap(listBlocks);
  return [
    ...head,
    ...block(cutTo(oneLine(text), { max: MAX_CARD_QUOTE, escape: escapeCardText }), {}),
    ...shown,
    ...block(moreText(more), { isSubtle: true }),
  ];
}

function aloneBlocks({ text, reason, facts }: NoticeEntry): object[] {
  const list = facts.map(([title, value]) => ({
    title,
    value: cutTo(oneLine(value), { max: MAX_CARD_FACT, escape: escapeCardText }),
  }));
  return [
    ...block(cutTo(oneLine(reason), { max: MAX_CARD_SHORT, escape: escapeCardText }), { weight: 'Bolder' }),
    ...block(cutTo(oneLine(text), { max: MAX_CARD_QUOTE, escape: escapeCardText }), {}),
    ...(list.length === 0 ? [] : [{ type: 'FactSet', facts: list }]),
  ];
}

function listBlocks({ title, text, reason, url, postUrl }: NoticeEntry): object[] {
  const words = cutTo(oneLine(title), { max: MAX_CARD_TITLE, escape: escapeCardText });
  const head = isCardUrl(url) ? `[${words}](${linkAddress(url)})` : words;
  return [
    ...block(head, { weight: 'Bolder', separator: true }),
    ...block(cutTo(oneLine(reason || text), { max: MAX_CARD_SHORT, escape: escapeCardText }), {}),
    ...(isCardUrl(postUrl) ? block(`[View post](${linkAddress(postUrl)})`, { isSubtle: true }) : []),
  ];
}

function isCardUrl(url: string): boolean {
  return url.length <= MAX_CARD_FACT && isWebUrl(url);
}

function block(text: string, look: object): object[] {
  return text === '' ? [] : [{ type: 'TextBlock', text, wrap: true, ...look }];
}

function cardActions({ url, entries }: Notice): object[] {
  const [alone] = entries.length === 1 ? entries : [];
  const { postUrl = '', acts = [] } = alone ?? {};
  return [
    ...(isWebUrl(url) ? [{ type: 'Action.OpenUrl', title: 'Open in Signalpost', url }] : []),
    ...(isWebUrl(postUrl) ? [{ type: 'Action.OpenUrl', title: 'View post', url: postUrl }] : []),
    ...acts.map(([title, act]) => ({ type: 'Action.OpenUrl', title, url: act })),
  ];
}

/**
 * Escapes the subset of Markdown that cards support:
 * https://learn.microsoft.com/adaptive-cards/authoring-cards/text-features
 */
function escapeCardText(text: string): string {
  return text
    .replace(/[\\*_[\]]/g, '\\$&')
    .replace(/^(\d+)\./, '$1\\.')
    .replace(/^([-+#>])/, '\\$1');
}

/**
 * Limits of an embed, with a total of 6,000:
 * https://docs.discord.com/developers/resources/message#embed-object
 */
const MAX_EMBED_TITLE = 256;
const MAX_EMBED_FIELD = 500;
const MAX_EMBED_QUOTE = 2_000;
const MAX_EMBED_LIST = 4_000;
const MAX_URL = 1_000;

const COLORS: Record<Notice['tone'], number> = {
  hot: 0xd64545,
  warm: 0xe09f3e,
  cold: 0x5b7c99,
  plain: 0x4a5568,
};

/** A message for a webhook. Text of posts cannot mention anyone. */
function discordMessage(notice: Notice): object {
  const { title, text, entries, url, tone } = notice;
  const [first] = entries;
  const description =
    entries.length === 1
      ? aloneText(first)
      : listed(notice, { max: MAX_EMBED_LIST, form: embedEntry, length: (t) => t.length });
  const fields = entries.length === 1 ? (first?.facts ?? []) : [];
  const words =
    description === '' ? cutTo(oneLine(text), { max: MAX_EMBED_QUOTE, escape: escapeMarkdown }) : description;
  return {
    embeds: [
      {
        title: cutTo(oneLine(title), { max: MAX_EMBED_TITLE, escape: escapeMarkdown }),
        ...(isShortUrl(url) ? { url } : {}),
        ...(words === '' ? {} : { description: words }),
        color: COLORS[tone],
        fields: fields.map(([name, value]) => ({
          name,
          value: cutTo(oneLine(value), { max: MAX_EMBED_FIELD, escape: escapeMarkdown }),
          inline: true,
        })),
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

function aloneText(entry: NoticeEntry | undefined): string {
  if (entry === undefined) return '';
  const quote = cutTo(oneLine(entry.text), { max: MAX_EMBED_QUOTE, escape: escapeMarkdown });
  const reason = cutTo(oneLine(entry.reason), { max: MAX_EMBED_TITLE, escape: escapeMarkdown });
  const links = [...entry.acts, ['View post', entry.postUrl] as const]
    .filter(([, url]) => isShortUrl(url))
    .map(([label, url]) => `[${label}](${linkAddress(url)})`);
  const lines = [reason === '' ? '' : `**${reason}**`, quote, links.join(' · ')];
  return lines.filter((line) => line !== '').join('\n');
}

function embedEntry(entry: NoticeEntry): string {
  const title = cutTo(oneLine(entry.title), { max: MAX_EMBED_TITLE, escape: escapeMarkdown });
  const head = isShortUrl(entry.url) ? `[${title}](${linkAddress(entry.url)})` : title;
  const reason = cutTo(oneLine(entry.reason), { max: MAX_EMBED_TITLE, escape: escapeMarkdown });
  const post = isShortUrl(entry.postUrl) ? `[View post](${linkAddress(entry.postUrl)})` : '';
  const words =
    reason === '' ? cutTo(oneLine(entry.text), { max: MAX_EMBED_FIELD, escape: escapeMarkdown }) : reason;
  return [`**${head}**`, words, post].filter((line) => line !== '').join('\n');
}

function isShortUrl(url: string): boolean {
  return url.length <= MAX_URL && isWebUrl(url);
}

function linkAddress(url: string): string {
  return new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
}

function escapeMarkdown(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()-]/g, '\\$&');
}

/** Longer messages become attachments: https://docs.ntfy.sh/publish/#limitations */
const MAX_MESSAGE_BYTES = 4_000;
/** Leaves room for the number of omitted entries. */
const MAX_LIST_BYTES = MAX_MESSAGE_BYTES - 50;
const MAX_NTFY_TITLE = 200;
const MAX_ACTIONS = 3;

/** From 1 to 5; 4 rings longer. */
const PRIORITIES: Record<Notice['tone'], number> = { hot: 4, warm: 3, cold: 2, plain: 3 };

/**
 * A message published as JSON, which ntfy accepts at the URL of the server:
 * https://docs.ntfy.sh/publish/#publish-as-json. The topic is added at the end, so that thousands of topics share one body.
 */
function ntfyMessage(notice: Notice): object {
  const { title, url, tone, entries } = notice;
  const message = messageText(notice);
  const [alone] = entries.length === 1 ? entries : [];
  const links = [['View post', alone?.postUrl ?? ''] as const, ...(alone?.acts ?? [])];
  const actions = links
    .filter(([, target]) => isShortUrl(target))
    .slice(0, MAX_ACTIONS)
    .map(([label, target]) => ({ action: 'view', label, url: target }));
  return {
    title: cutTo(oneLine(title), { max: MAX_NTFY_TITLE }),
    message: cutTo(message || oneLine(title), { max: MAX_MESSAGE_BYTES, length: Buffer.byteLength }),
    priority: PRIORITIES[tone],
    tags: ['signalpost', ...(tone === 'plain' ? [] : [tone])],
    ...(isShortUrl(url) ? { click: url } : {}),
    ...(actions.length === 0 ? {} : { actions }),
  };
}

function messageText(notice: Notice): string {
  const { text, entries } = notice;
  const [first] = entries;
  const facts = first?.facts.map(([name, value]) => `${name}: ${oneLine(value)}`) ?? [];
  const shown =
    entries.length === 1 && first !== undefined
      ? [oneLine(first.reason), oneLine(first.text), ...facts].filter((line) => line !== '').join('\n')
      : listed(notice, { max: MAX_LIST_BYTES, form: ntfyEntry, length: Buffer.byteLength });
  return [oneLine(text), shown].filter((part) => part !== '').join('\n');
}

function ntfyEntry({ title, text, reason, postUrl }: NoticeEntry): string {
  const lines = [cutTo(oneLine(title), { max: MAX_NTFY_TITLE }), oneLine(reason || text)];
  return [...lines, ...(isShortUrl(postUrl) ? [postUrl] : [])].join('\n');
}

/** On one line, without control characters, as services show titles. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ').trim();
}

interface TextLimit {
  max: number;
  /** Escapes the service's markup, which may lengthen the text. */
  escape?: (text: string) => string;
  /** The length as the service counts it; UTF-16 units if it does not say. */
  length?: (text: string) => number;
}

/**
 * Truncates `text` so that, escaped, it is at most `max` long; cuts at a word, and never within an escape
 * sequence.
 */
function cutTo(
  text: string,
  { max, escape: escaped = (t) => t, length = (t) => t.length }: TextLimit,
): string {
  let points = max;
  for (;;) {
    const made = escaped(excerpt(text, points));
    const size = length(made);
    if (size <= max || points <= 1) return made;
    points = Math.max(1, Math.min(points - 1, Math.floor((points * max) / size)));
  }
}

/** Whether a service would accept it as a link. */
function isWebUrl(url: string): boolean {
  return url !== '' && /^https?:\/\//i.test(url) && parseUrl(url) !== null;
}
