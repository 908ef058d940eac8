import { expect, test } from 'vitest';
import { isEdited, itemKey, itemMark, type SourceItem } from '../../src/detection/source-item.ts';
import { status } from '../support/receiver.ts';
import { createHarness, type Harness, rss, wanting } from './harness.ts';

const INTERVAL_MS = 900_000;

/** A harness whose source has been read once, when the feed contained these items. */
async function readOnce(items: [id: string, text: string][]): Promise<Harness> {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss(items));
  await h.add();
  await h.poller.start();
  await h.ended(1);
  return h;
}

async function readAgain(h: Harness, items: [id: string, text: string][]): Promise<void> {
  h.pages['/feed'] = status(200, {}, rss(items));
  await h.pass(INTERVAL_MS);
}

test('an edited item updates its signal and is counted once', async () => {
  const h = await readOnce([['1', wanting('CRM')]]);
  await readAgain(h, [['1', `${wanting('CRM')} The budget is approved.`]]);
  expect(await h.texts()).toEqual([`Post\n\n${wanting('CRM')} The budget is approved.`]);
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 1, itemsMatched: 1, signalsMade: 1 });
});

test('an item that is edited to no longer be a request loses its class', async () => {
  const h = await readOnce([['1', wanting('CRM')]]);
  const [before] = await h.store.listPosts('ten_a', 10);
  await readAgain(h, [['1', 'EDIT: solved, thanks everybody.']]);
  const after = await h.store.listPosts('ten_a', 10);
  expect(before?.classification).toBe('hot');
  expect(after).toMatchObject([{ id: before?.id, classification: 'cold' }]);
});

test('an item without a match creates a signal once an edited version matches', async () => {
  const h = await readOnce([['1', 'Cats are nice']]);
  expect(await h.texts()).toEqual([]);
  await readAgain(h, [['1', wanting('CRM')]]);
  expect(await h.texts()).toEqual([`Post\n\n${wanting('CRM')}`]);
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 1, signalsMade: 1 });
});

test('an unchanged item is left alone', async () => {
  const h = await readOnce([['1', wanting('CRM')]]);
  await readAgain(h, [['1', wanting('CRM')]]);
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 1, itemsMatched: 1, signalsMade: 1 });
  expect(await h.texts()).toHaveLength(1);
});

test('items known without their text count as unedited', () => {
  const item: SourceItem = {
    ...{ id: '1', platform: 'rss', url: '', postedAt: null },
    ...{ title: 'Post', body: 'a', author: '' },
  };
  expect(isEdited(itemMark(item), itemKey(item))).toBe(false);
  expect(isEdited(itemMark(item), itemMark(item))).toBe(false);
  expect(isEdited(itemMark({ ...item, body: 'b' }), itemMark(item))).toBe(true);
});
