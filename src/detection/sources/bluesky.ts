import { z } from 'zod';
import { HOUR_MS } from '../../lib/clock.ts';
import { boundedItems, crowdOf, type Parser } from '../documents/parser.ts';
import { createWordTest, type Reader } from '../reader.ts';
import { readTime, type SourceItem } from '../source-item.ts';

/** How long one run listens: what it does not get through the next one does, soon. */
const LISTEN_MS = 60_000;
/** Where a source begins: the stream is of all posts, and a week of them is beyond anybody's time. */
const FIRST_LOOK_MS = HOUR_MS;
const MAX_ITEMS = 1_000;
/** Text that waits to be parsed; a stream that is faster than that is left, and the next run goes on from there. */
const MAX_WAITING = 4 * 1024 * 1024;
/** What a message costs besides its text, in characters: small ones are no cheaper. */
const OVERHEAD = 200;

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

/** Messages of the stream, and what is wanted of them. */
interface Frames {
  frames: string[];
  query: string | null;
  /** The message that reaches this time is the last, in microseconds. */
  until: number;
  /** Items that are still wanted. */
  room: number;
}

/** Posts of some messages; `cursor` is the time of the last that was read, 0: of none. */
export const jetstreamFrames: Parser<Frames, { items: SourceItem[]; cursor: number; isOver: boolean }> = {
  name: 'jetstream_frames',
  parse(_, { frames, query, until, room }) {
    const holds = createWordTest(query);
    const items: SourceItem[] = [];
    let cursor = 0;
    for (const event of frames.map(eventOf)) {
      if (event === null) continue;
      cursor = Math.max(cursor, event.time_us);
      const item = toItem(event);
      if (item !== null && holds(item.body)) items.push(item);
      const isOver = event.time_us >= until || items.length >= room;
      if (isOver) return { items: boundedItems(items, MAX_ITEMS), cursor, isOver };
    }
    return { items: boundedItems(items, MAX_ITEMS), cursor, isOver: false };
  },
};

/** Posts that hold the words of a query, from Bluesky's Jetstream (https://github.com/bluesky-social/jetstream). */
export const readJetstream: Reader = async ({ source, position, now, web, parse, sites }) => {
  const { query } = source.settings;
  const start = Number(position.cursor ?? (now - FIRST_LOOK_MS) * 1_000);
  const address = new URL(`${sites.bluesky}/subscribe`);
  address.search = new URLSearchParams({
    wantedCollections: 'app.bsky.feed.post',
    cursor: String(start),
  }).toString();
  const page = { status: 200, headers: {}, body: Buffer.alloc(0), url: address.href };
  let items: SourceItem[] = [];
  let cursor = start;
  let isOver = false;
  let waiting: string[] = [];
  let characters = 0;
  let parsing: Promise<void> | null = null;

  /** What came while the messages before were parsed is parsed together. */
  async function parseWaiting(): Promise<void> {
    while (waiting.length > 0 && !isOver) {
      const frames = waiting;
      waiting = [];
      characters = 0;
      const room = MAX_ITEMS - items.length;
      const read = await parse(jetstreamFrames, page, { frames, query, until: now * 1_000, room });
      items = items.concat(read.items);
      cursor = Math.max(cursor, read.cursor);
      isOver = read.isOver;
    }
  }

  let isCut = false;
  const faults: unknown[] = [];
  await web.listen(address.href, LISTEN_MS, (text, end) => {
    if (isOver || isCut) return;
    waiting.push(text);
    characters += text.length + OVERHEAD;
    isCut = characters > MAX_WAITING;
    if (isCut) end();
    parsing ??= parseWaiting()
      .catch((fault: unknown) => {
        isOver = true;
        faults.push(fault);
      })
      .then(() => {
        parsing = null;
        if (isOver) end();
      });
  });
  await parsing;
  if (faults.length > 0) throw faults[0];
  return { items, position: { cursor: String(cursor) }, more: isCut || items.length >= MAX_ITEMS };
};

function eventOf(text: string): z.infer<typeof eventSchema> | null {
  if (crowdOf(text) !== null) return null;
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
