import { moreText, type Notice, type NoticeEntry } from './notice.ts';
import { cutTo, isWebUrl, oneLine } from './plain-text.ts';

const MAX_TITLE = 300;
const MAX_QUOTE = 2_000;
const MAX_SHORT = 400;
const MAX_FACT = 500;

/**
 * A message of a workflow's webhook: one Adaptive Card, of the version that Teams shows everywhere; a message may have 28 KB.
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
 */
export function teamsMessage(notice: Notice): object {
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
  const head = block(cutTo(oneLine(title), { max: MAX_TITLE, escape: escapeMarkup }), {
    size: 'Large',
    weight: 'Bolder',
    color,
  });
  const [first] = entries;
  const shown =
    entries.length === 1 && first !== undefined ? aloneBlocks(first) : entries.flatMap(listBlocks);
  return [
    ...head,
    ...block(cutTo(oneLine(text), { max: MAX_QUOTE, escape: escapeMarkup }), {}),
    ...shown,
    ...block(moreText(more), { isSubtle: true }),
  ];
}

function aloneBlocks({ text, reason, facts }: NoticeEntry): object[] {
  const list = facts.map(([title, value]) => ({
    title,
    value: cutTo(oneLine(value), { max: MAX_FACT, escape: escapeMarkup }),
  }));
  return [
    ...block(cutTo(oneLine(reason), { max: MAX_SHORT, escape: escapeMarkup }), { weight: 'Bolder' }),
    ...block(cutTo(oneLine(text), { max: MAX_QUOTE, escape: escapeMarkup }), {}),
    ...(list.length === 0 ? [] : [{ type: 'FactSet', facts: list }]),
  ];
}

function listBlocks({ title, text, reason, url, postUrl }: NoticeEntry): object[] {
  const words = cutTo(oneLine(title), { max: MAX_TITLE, escape: escapeMarkup });
  const head = isShortUrl(url) ? `[${words}](${address(url)})` : words;
  return [
    ...block(head, { weight: 'Bolder', separator: true }),
    ...block(cutTo(oneLine(reason || text), { max: MAX_SHORT, escape: escapeMarkup }), {}),
    ...(isShortUrl(postUrl) ? block(`[View post](${address(postUrl)})`, { isSubtle: true }) : []),
  ];
}

function isShortUrl(url: string): boolean {
  return isWebUrl(url) && url.length <= MAX_FACT;
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

function address(url: string): string {
  return new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
}

/** What its subset of Markdown would read: https://learn.microsoft.com/adaptive-cards/authoring-cards/text-features */
function escapeMarkup(text: string): string {
  return text
    .replace(/[\\*_[\]]/g, '\\$&')
    .replace(/^(\d+)\./, '$1\\.')
    .replace(/^([-+#>])/, '\\$1');
}
