import { z } from 'zod';
import type { Reader } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { createWordTest } from '../words-asked.ts';

/** How long one run listens: what it does not get through the next one does, soon. */
const LISTEN_MS = 60_000;
/** Where a source begins: the stream is of all posts, and a week of them is beyond anybody's time. */
const FIRST_LOOK_MS = 3_600_000;
const MAX_ITEMS = 1_000;

const eventSchema = z.object({
  did: z.string(),
  time_us: z.int(),
  commit: z
    .object({
      operation: z.string(),
      collection: z.string(),
      rkey: z.string(),
      record: z.object({ text: z.string().nullish(), createdAt: z.string().nullish() }).nullish(),
    })
    .nullish(),
});

/** Posts that hold the words of a query, from Bluesky's Jetstream (https://github.com/bluesky-social/jetstream). */
export const readJetstream: Reader = async ({ source, position, now, web, sites }) => {
  const holds = createWordTest(source.settings.query);
  const start = Number(position.cursor ?? (now - FIRST_LOOK_MS) * 1_000);
  const address = new URL(`${sites.bluesky}/subscribe`);
  address.search = new URLSearchParams({
    wantedCollections: 'app.bsky.feed.post',
    cursor: String(start),
  }).toString();
  const items: SourceItem[] = [];
  let cursor = start;
  let caughtUp = false;
  await web.listen(address.href, LISTEN_MS, (text) => {
    const event = eventOf(text);
    if (event === null) return true;
    cursor = Math.max(cursor, event.time_us);
    const item = toItem(event);
    if (item !== null && holds(item.body)) items.push(item);
    caughtUp = event.time_us >= now * 1_000;
    return !caughtUp && items.length < MAX_ITEMS;
  });
  return { items, position: { cursor: String(cursor) }, more: items.length >= MAX_ITEMS };
};

function eventOf(text: string): z.infer<typeof eventSchema> | null {
  try {
    return eventSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // one that cannot be read says nothing of the others
  }
}

function toItem({ did, time_us, commit }: z.infer<typeof eventSchema>): SourceItem | null {
  const text = commit?.record?.text ?? '';
  if (commit?.operation !== 'create' || commit.collection !== 'app.bsky.feed.post' || text === '')
    return null;
  return {
    id: `at://${did}/${commit.collection}/${commit.rkey}`,
    platform: 'bluesky',
    url: `https://bsky.app/profile/${did}/post/${encodeURIComponent(commit.rkey)}`,
    postedAt: readTime(commit.record?.createdAt) ?? Math.floor(time_us / 1_000),
    title: '',
    body: text,
    author: '',
  };
}
