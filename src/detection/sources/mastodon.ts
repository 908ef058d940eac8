import { z } from 'zod';
import { withoutTrailingSlashes } from '../../lib/text.ts';
import { boundedItems } from '../documents/bounds.ts';
import { jsonParser, listOf } from '../documents/json.ts';
import { htmlToText } from '../html-text.ts';
import { demandSuccess, type Reader } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';

const PAGE = 40;
const MAX_PAGES = 10;

const statusSchema = z.object({
  // It becomes a part of addresses and is remembered from run to run.
  id: z.string().max(300),
  created_at: z.string().nullish(),
  url: z.string().nullish(),
  uri: z.string().nullish(),
  content: z.string().nullish(),
  spoiler_text: z.string().nullish(),
  account: z.object({ display_name: z.string().nullish(), acct: z.string().nullish() }).nullish(),
});

/** A page of statuses, and the ids of its newest and oldest. */
export const mastodonStatuses = jsonParser('mastodon_statuses', listOf(statusSchema), (statuses) => ({
  items: boundedItems(statuses.map(toItem)),
  newest: statuses[0]?.id ?? null,
  oldest: statuses.at(-1)?.id ?? null,
  count: statuses.length,
}));

/** Public posts with a tag, as an instance sees them (https://docs.joinmastodon.org/methods/timelines/#tag). */
export const readMastodon: Reader = async ({ source, position, web, parse, oldest }) => {
  const { url, tag } = source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  let items: SourceItem[] = [];
  let newest = position.cursor ?? null;
  let below: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const address = new URL(`${base}/api/v1/timelines/tag/${encodeURIComponent(tag ?? '')}`);
    address.search = new URLSearchParams({
      limit: String(PAGE),
      ...(position.cursor ? { since_id: position.cursor } : {}),
      ...(below === null ? {} : { max_id: below }),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const shown = await parse(mastodonStatuses, answer, null);
    items = items.concat(shown.items);
    if (page === 0) newest = shown.newest ?? newest;
    below = shown.oldest;
    const goesOn = shown.items.every(({ postedAt }) => (postedAt ?? oldest) >= oldest);
    if (shown.count < PAGE || below === null || !goesOn) break;
  }
  return { items, position: { cursor: newest } };
};

function toItem(status: z.infer<typeof statusSchema>): SourceItem {
  const { account } = status;
  return {
    id: status.uri || status.url || status.id,
    platform: 'mastodon',
    url: status.url || status.uri || '',
    postedAt: readTime(status.created_at),
    title: status.spoiler_text ?? '',
    body: htmlToText(status.content ?? ''),
    author: account?.display_name || account?.acct || '',
  };
}
