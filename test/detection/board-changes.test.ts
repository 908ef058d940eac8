import { expect, test } from 'vitest';
import { boundedItem, toolsNamed } from '../../src/detection/documents/parser.ts';
import { type SourceItem, toPost } from '../../src/detection/source-item.ts';
import { boardChanges } from '../../src/detection/sources/board-changes.ts';
import { createHarness, settings, wanting } from './harness.ts';

const AT = { now: 1_000, platform: 'lever', company: 'acme' };

const job = (id: string, overrides: Partial<SourceItem> = {}): SourceItem => ({
  ...{ id, platform: 'lever', url: `https://jobs.example.com/${id}`, postedAt: 0, author: '' },
  ...{ title: `Job ${id}`, body: 'We need you.', department: 'Sales', company: { name: 'Acme Inc' } },
  ...overrides,
});

test('reports a changed job again, and closes a job missing from two runs', () => {
  const first = boardChanges(null, [job('1'), job('2')], AT);
  expect(first).toMatchObject({ items: [], isUnsure: false });
  const second = boardChanges(first.cursor, [job('1', { title: 'Head of Sales' })], AT);
  expect(second).toMatchObject({
    items: [{ title: 'Changed: Head of Sales', postedAt: 1_000 }],
    isUnsure: true,
  });
  expect(second.items[0]?.id).toMatch(/^1 changed /);
  const third = boardChanges(second.cursor, [job('1', { title: 'Head of Sales' })], AT);
  expect(third).toMatchObject({
    items: [
      { title: 'Closed: Job 2', department: 'Sales', company: { name: 'Acme Inc' }, platform: 'lever' },
    ],
    isUnsure: false,
  });
  expect(boardChanges(third.cursor, [job('1', { title: 'Head of Sales' })], AT)).toMatchObject({ items: [] });
});

test('closes nothing if a job is missing from one run, or if the state is unreadable', () => {
  const first = boardChanges(null, [job('1'), job('2')], AT);
  const missed = boardChanges(first.cursor, [job('1')], AT);
  expect(boardChanges(missed.cursor, [job('1'), job('2')], AT)).toMatchObject({ items: [], isUnsure: false });
  expect(boardChanges('{', [job('1')], AT).items).toEqual([]);
});

test('requests the whole board if a job is missing, and creates signals for changes', async () => {
  const h = await createHarness();
  const lever = (id: string, text: string) => ({
    ...{
      id,
      text: 'Buyer',
      hostedUrl: `https://jobs.example.com/${id}`,
      categories: { team: 'Procurement' },
    },
    descriptionPlain: text,
  });
  let jobs = [lever('a', wanting('CRM')), lever('b', 'Cats.')];
  h.pages['/v0/postings/acme'] = (response) =>
    response.writeHead(200, { etag: '"1"' }).end(JSON.stringify(jobs));
  await h.add({ kind: 'lever', settings: settings({ board: 'acme' }) });
  await h.poller.start();
  await h.ended(1);
  jobs = [lever('a', wanting('help desk'))];
  await h.pass(900_000);
  await h.pass(900_000);
  await h.pass(900_000);
  expect((await h.texts())[1]).toMatch(/^Changed: Buyer\n\nDepartment: Procurement\n\n/);
  expect(h.asked().map(({ headers }) => headers['if-none-match'])).toEqual([
    undefined,
    '"1"',
    undefined,
    '"1"',
  ]);
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 4, signalsMade: 2, lastError: null }); // two, changed, closed
});

test('the text of a job lists the tools it names in their official spelling', () => {
  const body =
    'You work with Salesforce, Node.js and Microsoft Teams, and go to the front of the class. Salesforce again.';
  expect(toolsNamed(body)).toEqual(['Salesforce', 'Node.js', 'Microsoft Teams']);
  expect(toPost(boundedItem(job('1', { body })))?.text).toContain(
    'Tools: Salesforce, Node.js, Microsoft Teams',
  );
  const { department: _, ...post } = job('1', { body });
  expect(toPost(boundedItem(post))?.text).not.toContain('Tools:');
});

test('remembers all jobs of a board, those with long URLs and titles in less detail', () => {
  const jobs = Array.from({ length: 2_900 }, (_, n) =>
    job(`${n}-${'x'.repeat(250)}`, { title: `${n} ${'t'.repeat(280)}`, url: 'u'.repeat(1_500) }),
  );
  const first = boardChanges(null, jobs, AT);
  expect(Buffer.byteLength(first.cursor)).toBeLessThanOrEqual(1_280 * 1024);
  const changed = jobs.map((each) => ({ ...each, title: 'Head of Sales' }));
  expect(boardChanges(first.cursor, changed, AT).items).toHaveLength(2_900);
  // The next run has other jobs: those that are missing are remembered, too.
  const others = jobs.map((each) => ({ ...each, id: `other ${each.id}` }));
  const second = boardChanges(first.cursor, others, AT);
  expect(Buffer.byteLength(second.cursor)).toBeLessThanOrEqual(1_280 * 1024);
  expect(second.items).toEqual([]);
  const third = boardChanges(second.cursor, others, AT);
  expect(third.items).toHaveLength(2_900);
  expect(third.items[2_899]?.title).toMatch(/^Closed: 2899 t+$/);
});

test('the size of a remembered board is limited in bytes', () => {
  const jobs = Array.from({ length: 2_900 }, (_, n) => job(`${n}`, { title: `${n} ${'漢'.repeat(280)}` }));
  const first = boardChanges(null, jobs, AT);
  expect(Buffer.byteLength(first.cursor)).toBeLessThanOrEqual(1_280 * 1024);
  expect(boardChanges(first.cursor, jobs, AT).items).toEqual([]);
});

test('jobs with long IDs that an earlier version remembered are not closed', () => {
  const id = 'x'.repeat(100);
  const first = boardChanges(null, [job('1')], AT);
  const known: object = JSON.parse(first.cursor);
  const earlier = JSON.stringify({ [id]: Object.values(known)[0] });
  expect(boardChanges(earlier, [job(id)], AT).isUnsure).toBe(false);
});
