import { z } from 'zod';
import { HOUR_MS } from '../../lib/clock.ts';
import { boundedItems, crowdOf, type Parser } from '../documents/parser.ts';
import { createWordTest, type Reader } from '../reader.ts';
import { readTime, type SourceItem, urlPart } from '../source-item.ts';

/** How long one run listens; the next run, soon after, continues where it stopped. */
const LISTEN_MS = 60_000;
/** The initial position: the stream contains all posts, and a week of them would take too long. */
const FIRST_LOOK_MS = HOUR_MS;
const MAX_ITEMS = 1_000;
/**
 * Maximum text waiting to be parsed. If a stream is faster, the run stops, and the next one continues from
 * there.
 */
const MAX_WAITING = 4 * 1024 * 1024;
/** The cost of a message in addition to its text, in characters: short messages are no cheaper. */
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

/** Messages of the stream, with the query to match them. */
interface Frames {
  frames: string[];
  query: string | null;
  /** Stops after the message that reaches this time, in microseconds; no later one is a position to continue from. */
  until: number;
  /** Maximum number of further items. */
  room: number;
}

/** Parses messages into posts; `cursor` is the time of the last message read, or 0 if there was none. */
export const jetstreamFrames: Parser<Frames, { items: SourceItem[]; cursor: number; isOver: boolean }> = {
  name: 'jetstream_frames',
  parse(_, { frames, query, until, room }) {
    const holds = createWordTest(query);
    const items: SourceItem[] = [];
    let cursor = 0;
    for (const event of frames.map(eventOf)) {
      if (event === null) continue;
      cursor = Math.max(cursor, Math.min(event.time_us, until));
      const item = toItem(event);
      if (item !== null && holds(item.body)) items.push(item);
      const isOver = event.time_us >= until || items.length >= room;
      if (isOver) return { items: boundedItems(items, MAX_ITEMS), cursor, isOver };
    }
    return { items: boundedItems(items, MAX_ITEMS), cursor, isOver: false };
  },
};

/**
 * Reads posts that contain the words of a query from Bluesky's Jetstream
 * (https://github.com/bluesky-social/jetstream).
 */
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

  /** Parses messages in batches: those that arrive during one batch form the next. */
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
    return null; // an invalid message does not affect the others
  }
}

function toItem({ did, time_us, commit }: z.infer<typeof eventSchema>): SourceItem | null {
  const text = commit?.record?.text ?? '';
  if (commit?.operation !== 'create' || commit.collection !== 'app.bsky.feed.post' || text === '')
    return null;
  return {
    id: `at://${did}/${commit.collection}/${commit.rkey}`,
    platform: 'bluesky',
    url: `https://bsky.app/profile/${did}/post/${urlPart(commit.rkey)}`,
    postedAt: readTime(commit.record?.createdAt) ?? Math.floor(time_us / 1_000),
    title: '',
    body: text,
    author: '',
  };
}
