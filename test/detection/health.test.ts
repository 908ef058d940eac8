import { expect, test } from 'vitest';
import { mailText } from '../../src/accounts/compose-mail.ts';
import { SourceFault, TOO_COSTLY } from '../../src/detection/source-item.ts';
import { status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, rss, wanting } from './harness.ts';

const DAY_MS = 86_400_000;

test('lists the last 100 runs, newest first', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')], ['2', 'Cats']])); // biome-ignore format: one line
  const id = await h.add({ intervalSeconds: 60 });
  await h.poller.start();
  await h.ended(1);
  h.pages['/feed'] = status(500);
  await h.pass(60_000);
  const { rows, last } = await h.store.pageSourceRuns(id, { limit: 1, after: null });
  expect(rows).toMatchObject([{ startedAt: T0 + 60_000, error: { code: 'http_status' }, itemsSeen: 0 }]);
  const second = await h.store.pageSourceRuns(id, { limit: 1, after: last });
  expect([second.rows, second.last]).toEqual([
    [expect.objectContaining({ startedAt: T0, error: null, itemsSeen: 2, itemsMatched: 1, signalsMade: 1 })],
    null,
  ]);
  expect(await h.source(id)).toMatchObject({ failingSince: T0 + 60_000, itemsMatched: 1 });
});

test('counts relevant feedback once per signal, and reverses it with the feedback', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, rss([['1', wanting('CRM')]]));
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  const signalId = JSON.parse((await h.store.listPosts('ten_a', 1))[0]?.wire ?? '{}').signal_id;
  const counts = [];
  for (const relevant of [true, true, false, true]) {
    await h.store.saveFeedback({
      tenantId: 'ten_a',
      signalId,
      relevant,
      reason: '',
      actorId: 'key_1',
      createdAt: T0,
    });
    counts.push((await h.source(id)).itemsRelevant);
  }
  expect(counts).toEqual([1, 1, 0, 1]);
});

test('sends the owner one mail per outage, once it has lasted a day', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(404);
  const id = await h.add({ intervalSeconds: 21_600 });
  await h.poller.start();
  await h.ended(1);
  for (let run = 0; run < 3; run++) await h.pass(21_600_000);
  expect(await h.store.listMail('ten_a', 10)).toEqual([]);
  await h.pass(21_600_000);
  await h.pass(21_600_000);
  const [mail, ...others] = await h.store.listMail('ten_a', 10);
  expect(others).toEqual([]);
  expect(mail?.facts).toMatchObject({ kind: 'source_failing', sourceId: id, since: T0 });
  const { subject, text } = mailText(
    mail?.facts ?? { kind: 'message', subject: '', text: '' },
    'https://s.example.com',
  );
  expect(subject).toBe('Source failing: Source src_1');
  expect(text).toContain('There is nothing at this address (status 404).');
  expect(text).toContain('What to do: Open the URL in a browser.');
  h.pages['/feed'] = status(200, {}, rss([]));
  await h.pass(21_600_000);
  expect(await h.source(id)).toMatchObject({ failingSince: null, lastError: null });
  h.pages['/feed'] = status(404);
  for (let run = 0; run < 6; run++) await h.pass(21_600_000);
  expect(await h.store.listMail('ten_a', 10)).toHaveLength(2);
});

test('items above the maximum age are not new, but items without a time are', async () => {
  const h = await createHarness();
  const item = (guid: string, at: number | null) =>
    `<item><guid>${guid}</guid><description>${wanting(`CRM ${guid}`)}</description>${
      at === null ? '' : `<pubDate>${new Date(at).toUTCString()}</pubDate>`
    }</item>`;
  const items = [item('new', T0 - 6 * DAY_MS), item('old', T0 - 8 * DAY_MS), item('undated', null)];
  h.pages['/feed'] = status(
    200,
    {},
    `<rss version="2.0"><channel><title>t</title>${items.join('')}</channel></rss>`,
  );
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 2, signalsMade: 2 });
  const ten = await h.add({ id: 'src_2', maxAgeDays: 10, nextPollAt: T0 + 1 });
  await h.pass(1);
  expect(await h.source(ten)).toMatchObject({ itemsSeen: 3, signalsMade: 1 });
});

test('a source with a costly document rests for a quarter of an hour, even if a run is requested', async () => {
  const parse = () => Promise.reject(new SourceFault(TOO_COSTLY, 'It takes too long.'));
  const h = await createHarness({ documents: { parse, close: async () => {} } });
  h.pages['/feed'] = status(200, {}, rss([]));
  const id = await h.add({ intervalSeconds: 60 });
  await h.poller.start();
  await h.ended(1);
  expect(await h.store.runSource('ten_a', id, T0)).toBe(true);
  expect(await h.source(id)).toMatchObject({
    lastError: { code: 'document_too_costly' },
    nextPollAt: T0 + 15 * 60_000,
  });
});
