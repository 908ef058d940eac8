import { listed, type Notice, type NoticeEntry } from './notice.ts';
import { cutTo, isWebUrl, oneLine } from './plain-text.ts';

/** Limits of an embed, and 6,000 for all of it: https://docs.discord.com/developers/resources/message#embed-object */
const MAX_TITLE = 256;
const MAX_FIELD = 500;
const MAX_QUOTE = 2_000;
const MAX_LIST = 4_000;
const MAX_URL = 1_000;

const COLORS: Record<Notice['tone'], number> = {
  hot: 0xd64545,
  warm: 0xe09f3e,
  cold: 0x5b7c99,
  plain: 0x4a5568,
};

/** A message of a webhook. No word of a post mentions anybody. */
export function discordMessage(notice: Notice): object {
  const { title, text, entries, url, tone } = notice;
  const [first] = entries;
  const description =
    entries.length === 1
      ? aloneText(first)
      : listed(notice, { max: MAX_LIST, form: listedEntry, length: (t) => t.length });
  const fields = entries.length === 1 ? (first?.facts ?? []) : [];
  const words =
    description === '' ? cutTo(oneLine(text), { max: MAX_QUOTE, escape: escapeMarkup }) : description;
  return {
    embeds: [
      {
        title: cutTo(oneLine(title), { max: MAX_TITLE, escape: escapeMarkup }),
        ...(isShortUrl(url) ? { url } : {}),
        ...(words === '' ? {} : { description: words }),
        color: COLORS[tone],
        fields: fields.map(([name, value]) => ({
          name,
          value: cutTo(oneLine(value), { max: MAX_FIELD, escape: escapeMarkup }),
          inline: true,
        })),
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

function aloneText(entry: NoticeEntry | undefined): string {
  if (entry === undefined) return '';
  const quote = cutTo(oneLine(entry.text), { max: MAX_QUOTE, escape: escapeMarkup });
  const reason = cutTo(oneLine(entry.reason), { max: MAX_TITLE, escape: escapeMarkup });
  const links = [...entry.acts, ['View post', entry.postUrl] as const]
    .filter(([, url]) => isShortUrl(url))
    .map(([label, url]) => `[${label}](${linkAddress(url)})`);
  const lines = [reason === '' ? '' : `**${reason}**`, quote, links.join(' · ')];
  return lines.filter((line) => line !== '').join('\n');
}

function listedEntry(entry: NoticeEntry): string {
  const title = cutTo(oneLine(entry.title), { max: MAX_TITLE, escape: escapeMarkup });
  const head = isShortUrl(entry.url) ? `[${title}](${linkAddress(entry.url)})` : title;
  const reason = cutTo(oneLine(entry.reason), { max: MAX_TITLE, escape: escapeMarkup });
  const post = isShortUrl(entry.postUrl) ? `[View post](${linkAddress(entry.postUrl)})` : '';
  const words = reason === '' ? cutTo(oneLine(entry.text), { max: MAX_FIELD, escape: escapeMarkup }) : reason;
  return [`**${head}**`, words, post].filter((line) => line !== '').join('\n');
}

function isShortUrl(url: string): boolean {
  return isWebUrl(url) && url.length <= MAX_URL;
}

function linkAddress(url: string): string {
  return new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29');
}

function escapeMarkup(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()-]/g, '\\$&');
}
