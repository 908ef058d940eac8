import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, percentile } from '../report.ts';
import { createLoadClient, type LoadClient } from '../signals/load-client.ts';
import { createPosts, seededRandom } from '../signals/posts.ts';
import type { Opened } from './server.ts';

const SECONDS = 12;
const WARM_UP_SECONDS = 3;
const BATCH_POSTS = 20;
/** Concurrent batches, and connections that read meanwhile. */
const [WRITERS, READERS] = [2, 4];
/** The interval of a reader's requests: the latency of responses is measured, not their throughput. */
const READ_EVERY_MS = 20;
const ASKS = [
  'Which of these would you recommend for our team of ten?',
  'We are looking for a better tool for this, any suggestions?',
  'How do other companies handle this? Ours is a mess.',
  'Has anyone used this at work, and what does it cost?',
];

interface Measured {
  postsPerSecond: number;
  p99Ms: number;
  megabytes: number;
  encoded: number;
}

/**
 * Batches of incoming posts with the sentence encoder on, in its thread, and the time of lists read
 * meanwhile, compared with the same server with the encoder off. The tenant has a profile drafted from one line, so that both
 * encoders work. Without a file of posts, each post contains a request, so that each is encoded.
 */
export async function benchEncode(file?: string): Promise<Figure[]> {
  const written = file === undefined ? null : readPosts(file);
  const words = await measure('off', written);
  const both = await measure('auto', written);
  return [
    {
      bench: 'encode',
      variant: `batches of ${BATCH_POSTS} ${written === null ? 'posts with requests' : 'posts of a stream'} with the encoder on, compared with words alone`,
      ours: both.postsPerSecond,
      floor: words.postsPerSecond,
      ratio: both.postsPerSecond / words.postsPerSecond,
      unit: 'posts/s',
      target: 'p99 of lists meanwhile below 60 ms',
      list_p99_ms: rounded(both.p99Ms),
      list_p99_ms_words_alone: rounded(words.p99Ms),
      memory_mb: Math.round(both.megabytes),
      memory_mb_words_alone: Math.round(words.megabytes),
      share_of_posts_encoded: rounded(both.encoded),
    },
  ];
}

async function measure(mode: 'auto' | 'off', written: string[] | null): Promise<Measured> {
  const { child } = await startChild(new URL('./server.ts', import.meta.url), START_FLAGS);
  try {
    const { url, apiKey, encoder } = await child.ask<Opened>({ open: mode });
    if (mode === 'auto' && encoder === 'off') throw new Error('the encoder is not installed');
    const client = createLoadClient(url, apiKey, READERS + 1);
    const nextBatch = createBatches(mode === 'auto' ? 5 : 6, written);
    await write(url, { apiKey, seconds: WARM_UP_SECONDS, nextBatch });
    const [postsPerSecond, times] = await Promise.all([
      write(url, { apiKey, seconds: SECONDS, nextBatch }),
      read(client, SECONDS),
    ]);
    const rss = await child.ask<number>({ memory: true });
    const encoded = await shareEncoded(client);
    await client.close();
    return { postsPerSecond, p99Ms: percentile(times, 0.99), megabytes: rss / 2 ** 20, encoded };
  } finally {
    child.end();
  }
}

/** Titles and texts, in the same order in every run. */
function readPosts(file: string): string[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const random = seededRandom(1);
  return lines
    .map((line) => JSON.parse(line) as { title?: string; text?: string })
    .map(({ title = '', text = '' }) => ({ text: `${title}\n\n${text}`.trim(), at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ text }) => text);
}

/** Batches of `written` posts, or of posts that end with a request, so that their class depends on their meaning. */
function createBatches(seed: number, written: string[] | null): () => string {
  const makePost = createPosts(seed);
  const random = seededRandom(seed);
  let made = 0;
  const post = () => {
    const given = written?.[made % written.length];
    const plain = makePost(made++) as { text: string; platform: object };
    // Old posts are cold, whatever their meaning.
    const platform = { ...plain.platform, posted_at: new Date().toISOString() };
    const text = given ?? `${plain.text} ${ASKS[Math.floor(random() * ASKS.length)]}`;
    return { ...plain, platform, text };
  };
  return () => JSON.stringify({ signals: Array.from({ length: BATCH_POSTS }, post) });
}

async function write(
  url: string,
  { apiKey, seconds, nextBatch }: { apiKey: string; seconds: number; nextBatch: () => string },
): Promise<number> {
  const pool = new Pool(url, { connections: WRITERS });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const started = performance.now();
  const end = started + seconds * 1_000;
  let batches = 0;
  const work = async () => {
    while (performance.now() < end) {
      const body = nextBatch();
      const answer = await pool.request({ method: 'POST', path: '/v1/signals/batch', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200)
        throw new Error(`a batch got a response with status ${answer.statusCode}: ${text.slice(0, 200)}`);
      batches++;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, work));
  await pool.close();
  return (batches * BATCH_POSTS) / ((performance.now() - started) / 1_000);
}

/** The milliseconds of each list. */
async function read(client: LoadClient, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  const work = async () => {
    while (performance.now() < end) {
      times.push(await client.time('/v1/signals?limit=25'));
      await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS));
    }
  };
  await Promise.all(Array.from({ length: READERS }, work));
  return times;
}

/** The share of newest signals whose score includes the encoder's output. */
async function shareEncoded(client: LoadClient): Promise<number> {
  const { data } = JSON.parse(await client.ask('/v1/signals?limit=100&include=explanation')) as {
    data: { explanation: { factors: { key: string }[]; negatives: { key: string }[] } }[];
  };
  const has = data.filter(({ explanation: { factors, negatives } }) =>
    [...factors, ...negatives].some(({ key }) => key === 'meaning'),
  );
  return has.length / Math.max(1, data.length);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
