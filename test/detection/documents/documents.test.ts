import { expect, onTestFinished, test } from 'vitest';
import { createDocuments } from '../../../src/detection/documents/documents.ts';
import { SourceFault } from '../../../src/detection/source-item.ts';
import { feedDocument } from '../../../src/detection/sources/feeds.ts';

const feed = (items: string) => `<rss version="2.0"><channel><title>t</title>${items}</channel></rss>`;
const ORDINARY = feed('<item><guid>g</guid><title>Which CRM?</title></item>');
/** Takes the feed parser half a minute, because it searches for the end of each bracket from its start. */
const ENDLESS = feed(`<item><author><name>${'('.repeat(970)}</name></author></item>`.repeat(5_000));
/** Small on the wire, tens of megabytes as objects. */
const CROWDED = feed('<item><title>t</title></item>'.repeat(150_000));

function open(options: Parameters<typeof createDocuments>[0] = {}) {
  const documents = createDocuments(options);
  onTestFinished(documents.close);
  const read = (text: string, owner = 'ten_a') =>
    documents.parse(
      feedDocument,
      { body: Buffer.from(text), contentType: '', url: 'https://a.example.com/feed' },
      { orLink: false },
      owner,
    );
  return { documents, read };
}

/** Far above the start-up time, and far below that of the endless document. */
const DEADLINE = { deadlineMs: 500 };

test('a document that takes too long is cancelled with an error, and the next one is parsed', async () => {
  const { read } = open(DEADLINE);
  const spoilt = read(ENDLESS);
  const next = read(ORDINARY);
  await expect(spoilt).rejects.toMatchObject({
    code: 'document_too_costly',
    message: expect.stringContaining('more than 0.5 seconds'),
  });
  expect((await next).items).toMatchObject([{ id: 'g', title: 'Which CRM?' }]);
}, 30_000);

test('a document that takes too much memory is cancelled', async () => {
  const { read } = open({ deadlineMs: 60_000, maxHeapMb: 32 });
  await expect(read(CROWDED)).rejects.toMatchObject({
    code: 'document_too_costly',
    message: expect.stringContaining('more than 32 MB of memory'),
  });
  expect((await read(ORDINARY)).items).toHaveLength(1);
}, 60_000);

test('tenants take turns: the second bad document of one tenant waits for those of others', async () => {
  const { read } = open(DEADLINE);
  const order: string[] = [];
  const tell = (name: string) => () => void order.push(name);
  await Promise.all([
    read(ENDLESS, 'ten_a').catch(tell('bad 1')),
    read(ENDLESS, 'ten_a').catch(tell('bad 2')),
    read(ENDLESS, 'ten_a').catch(tell('bad 3')),
    read(ORDINARY, 'ten_b').then(tell('good')),
  ]);
  expect(order.filter((name) => name !== 'bad 1')).toEqual(['good', 'bad 2', 'bad 3']);
}, 30_000);

test('tenants whose documents took long leave a thread to the others', async () => {
  const { read } = open(DEADLINE);
  const hostile = ['ten_a', 'ten_b', 'ten_c'];
  for (const owner of hostile) await read(ENDLESS, owner).catch(() => {});
  const order: string[] = [];
  const tell = (name: string) => () => void order.push(name);
  await Promise.all([
    ...hostile.map((owner) => read(ENDLESS, owner).catch(tell('bad'))),
    read(ORDINARY, 'ten_d').then(tell('good 1')),
    read(ORDINARY, 'ten_d').then(tell('good 2')),
  ]);
  expect(order).toEqual(['good 1', 'good 2', 'bad', 'bad', 'bad']);
}, 30_000);

test('the first long documents of two tenants keep no thread from a third, and are read later', async () => {
  const { read } = open({ deadlineMs: 3_000 });
  const order: string[] = [];
  const tell = (name: string) => (fault?: unknown) =>
    void order.push(`${name} ${fault instanceof SourceFault ? fault.code : ''}`);
  const hostile = ['ten_a', 'ten_b'].map((owner) => read(ENDLESS, owner).catch(tell('bad')));
  await Promise.all([...hostile, read(ORDINARY, 'ten_c').then(() => tell('good')())]);
  expect(order).toEqual(['good ', 'bad document_too_costly', 'bad document_too_costly']);
}, 30_000);

test('an error of a parser keeps its code', async () => {
  const { read } = open();
  const fault = await read('<!doctype html><html></html>').catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(SourceFault);
  expect(fault).toMatchObject({ code: 'invalid_feed' });
});

test("does not detach the caller's document", async () => {
  const { documents } = open();
  const body = Buffer.from(ORDINARY);
  const document = { body, contentType: '', url: 'https://a.example.com/feed' };
  await documents.parse(feedDocument, document, { orLink: false }, 'ten_a');
  expect(body.toString()).toBe(ORDINARY);
});

test('closing cancels all work, and no more is accepted', async () => {
  const { documents, read } = open();
  const outcomes = [read(ENDLESS), read(ORDINARY)].map((work) =>
    work.catch((error: SourceFault) => error.code),
  );
  await documents.close();
  expect(await Promise.all(outcomes)).toEqual(['stopped', 'stopped']);
  await expect(read(ORDINARY)).rejects.toMatchObject({ code: 'stopped' });
});
