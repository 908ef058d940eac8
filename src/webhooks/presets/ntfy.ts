import { listed, type Notice, type NoticeEntry } from './notice.ts';
import { cutTo, isWebUrl, oneLine } from './plain-text.ts';

/** Longer messages become attachments: https://docs.ntfy.sh/publish/#limitations */
const MAX_MESSAGE_BYTES = 4_000;
/** Leaves room for the count of what is left out. */
const MAX_LIST_BYTES = MAX_MESSAGE_BYTES - 50;
const MAX_TITLE = 200;
const MAX_URL = 1_000;
const MAX_ACTIONS = 3;

/** 1 to 5; 4 rings longer. */
const PRIORITIES: Record<Notice['tone'], number> = { hot: 4, warm: 3, cold: 2, plain: 3 };

/** A message published as JSON, which ntfy takes at the address of the server: https://docs.ntfy.sh/publish/#publish-as-json */
export function ntfyMessage(notice: Notice, topic: string): object {
  const { title, url, tone, entries } = notice;
  const message = messageText(notice);
  const [alone] = entries.length === 1 ? entries : [];
  const links = [['View post', alone?.postUrl ?? ''] as const, ...(alone?.acts ?? [])];
  const actions = links
    .filter(([, target]) => isShortUrl(target))
    .slice(0, MAX_ACTIONS)
    .map(([label, target]) => ({ action: 'view', label, url: target }));
  return {
    topic,
    title: cutTo(oneLine(title), { max: MAX_TITLE }),
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
      : listed(notice, { max: MAX_LIST_BYTES, form: listedEntry, length: Buffer.byteLength });
  return [oneLine(text), shown].filter((part) => part !== '').join('\n');
}

function listedEntry({ title, text, reason, postUrl }: NoticeEntry): string {
  const lines = [cutTo(oneLine(title), { max: MAX_TITLE }), oneLine(reason || text)];
  return [...lines, ...(isShortUrl(postUrl) ? [postUrl] : [])].join('\n');
}

function isShortUrl(url: string): boolean {
  return isWebUrl(url) && url.length <= MAX_URL;
}
