import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createDocuments } from '../../src/detection/documents/documents.ts';
import { feedDocument } from '../../src/detection/sources/feeds.ts';
import { createEncoder } from '../../src/signals/encoder/encoder.ts';

const system = vi.hoisted(() => ({ isFull: false }));
afterEach(() => {
  system.isFull = false;
});

vi.mock('node:worker_threads', async (original) => {
  const threads = await original<typeof import('node:worker_threads')>();
  class Worker extends threads.Worker {
    constructor(...given: ConstructorParameters<typeof threads.Worker>) {
      if (system.isFull) throw new Error('EAGAIN');
      super(...given);
    }
  }
  return { ...threads, Worker };
});

const feed = (items: string) => `<rss version="2.0"><channel><title>t</title>${items}</channel></rss>`;
/** Takes the feed parser half a minute. */
const ENDLESS = feed(`<item><author><name>${'('.repeat(970)}</name></author></item>`.repeat(5_000));

test('a long document is cancelled, and the next one reported, while the system allows no further thread', async () => {
  const documents = createDocuments({ deadlineMs: 500 });
  onTestFinished(documents.close);
  const read = (text: string) => {
    const document = { body: Buffer.from(text), contentType: '', url: 'https://a.example.com/feed' };
    return documents.parse(feedDocument, document, { orLink: false }, 'ten_a');
  };
  await read(feed(''));
  system.isFull = true;
  await expect(read(ENDLESS)).rejects.toMatchObject({ code: 'document_too_costly' });
  await expect(read(feed(''))).rejects.toThrow('EAGAIN');
  system.isFull = false;
  expect((await read(feed(''))).items).toEqual([]);
}, 30_000);

test('texts are encoded by the threads that there are, and refused without one', async () => {
  const encoder = createEncoder();
  onTestFinished(() => encoder.close());
  const texts = Array.from({ length: 20 }, (_, n) => encoder.encode([`text ${n}`]));
  system.isFull = true;
  const more = Array.from({ length: 20 }, (_, n) => encoder.encode([`another text ${n}`]));
  expect(await Promise.all([...texts, ...more])).toHaveLength(40);

  const other = createEncoder();
  onTestFinished(() => other.close());
  await expect(other.encode(['a text'])).rejects.toThrow('The sentence encoder failed.');
  system.isFull = false;
  expect((await other.encode(['a text'])).numbers.length).toBeGreaterThan(0);
}, 30_000);
