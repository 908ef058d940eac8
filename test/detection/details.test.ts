import { expect, test } from 'vitest';
import { readDetails } from '../../src/detection/details.ts';
import { SourceFault, type SourceItem } from '../../src/detection/source-item.ts';
import { status } from '../support/receiver.ts';
import { createHarness, type Harness, SECRET_BOX, settings, wanting } from './harness.ts';

const json = (body: object) => status(200, {}, JSON.stringify(body));
const AT = '2025-12-31T12:00:00Z';
const ERROR = status(500);
const BOARD = '/v1/companies/acme/postings';

function listJobs(h: Harness, jobs: { id: string; name: string }[]): void {
  const content = jobs.map((job) => ({ ...job, releasedDate: AT }));
  h.pages[BOARD] = json({ totalFound: content.length, content });
}

const withText = (text: string) => json({ jobAd: { sections: { description: { text: `<p>${text}</p>` } } } });

const board = (h: Harness) => h.add({ kind: 'smartrecruiters', settings: settings({ board: 'acme' }) });

/** Waits until the source is due, and for its run. */
async function nextRun(h: Harness, id: string): Promise<void> {
  const { nextPollAt } = await h.source(id);
  await h.pass(nextPollAt - h.clock.now());
}

test('a job whose details always fail costs the board no other job, and is finally read without them', async () => {
  const h = await createHarness();
  listJobs(h, [
    { id: '1', name: wanting('CRM') },
    { id: '2', name: 'Clerk' },
  ]);
  h.pages[`${BOARD}/1`] = ERROR;
  h.pages[`${BOARD}/2`] = withText(wanting('phone system'));
  const id = await board(h);
  await h.poller.start();
  await h.ended(1);
  expect(await h.texts()).toEqual([expect.stringContaining('phone system')]);
  const { lastError, nextPollAt } = await h.source(id);
  expect(lastError).toMatchObject({ code: 'details_unavailable' });
  expect(lastError?.message).toMatch(/^The details of 1 item could not be read.*"We are .*\(status 500\)\.$/);
  expect(nextPollAt).toBe(h.clock.now() + 900_000);
  await nextRun(h, id);
  expect(await h.texts()).toHaveLength(1);
  await nextRun(h, id);
  expect((await h.texts()).at(-1)).toContain('CRM');
  expect(await h.source(id)).toMatchObject({ failures: 3, lastError: { code: 'details_unavailable' } });
  await nextRun(h, id);
  expect(await h.source(id)).toMatchObject({ failures: 0, lastError: null, signalsMade: 2 });
  expect(h.asked().filter(({ path }) => path === `${BOARD}/1`)).toHaveLength(3);
});

test('a job whose details fail once is read with them', async () => {
  const h = await createHarness();
  listJobs(h, [{ id: '1', name: 'Clerk' }]);
  h.pages[`${BOARD}/1`] = ERROR;
  const id = await board(h);
  await h.poller.start();
  await h.ended(1);
  h.pages[`${BOARD}/1`] = withText(wanting('CRM'));
  await nextRun(h, id);
  expect(await h.texts()).toEqual([expect.stringContaining('CRM')]);
  expect(await h.source(id)).toMatchObject({ lastError: null });
});

test('a run stops requesting details after five failures in a row, and new jobs come before failed ones', async () => {
  const h = await createHarness();
  const jobs = Array.from({ length: 12 }, (_, i) => ({ id: `${i + 1}`, name: 'Clerk' }));
  listJobs(h, jobs);
  h.pages['*'] = ERROR;
  const id = await board(h);
  await h.poller.start();
  await h.ended(1);
  const requested = () => h.asked().flatMap(({ path }) => path.split('/postings/')[1] ?? []);
  expect(requested()).toEqual(['1', '2', '3', '4', '5']);
  await nextRun(h, id);
  expect(requested().slice(5)).toEqual(['6', '7', '8', '9', '10']);
  h.pages['*'] = withText(wanting('CRM'));
  await nextRun(h, id);
  expect(requested().slice(10, 12)).toEqual(['11', '12']);
  expect(await h.source(id)).toMatchObject({ failures: 0, signalsMade: 12 });
});

test('a pause that the service asks for amid the details keeps what was read', async () => {
  const h = await createHarness();
  listJobs(h, [
    { id: '1', name: 'Clerk' },
    { id: '2', name: 'Buyer' },
  ]);
  h.pages[`${BOARD}/1`] = withText(wanting('CRM'));
  h.pages[`${BOARD}/2`] = status(429, { 'retry-after': '7200' });
  const id = await board(h);
  await h.poller.start();
  await h.ended(1);
  expect(await h.texts()).toHaveLength(1);
  expect(await h.source(id)).toMatchObject({ lastError: { code: 'rate_limited' } });
  expect((await h.source(id)).nextPollAt).toBe(h.clock.now() + 7_200_000);
  h.pages[`${BOARD}/2`] = withText(wanting('phone system'));
  await nextRun(h, id);
  expect(await h.source(id)).toMatchObject({ lastError: null, signalsMade: 2 });
  expect(h.asked().filter(({ path }) => path === `${BOARD}/1`)).toHaveLength(1);
});

test('SEC: of more notices than a run requests, none is missed', async () => {
  const h = await createHarness();
  const filed = Array.from({ length: 150 }, (_, i) => 150 - i);
  const entry = (n: number) =>
    `<entry><title>D - Acme ${n} (${n}) (Filer)</title><link rel="alternate" href="${h.origin}/data/${n}/index.htm"/><updated>${AT}</updated><id>urn:${n}</id></entry>`;
  h.pages['/cgi-bin/browse-edgar'] = (response, { path }) => {
    const start = Number(new URLSearchParams(path.split('?')[1]).get('start'));
    const entries = filed.slice(start, start + 100).map(entry);
    response.end(`<feed xmlns="http://www.w3.org/2005/Atom">${entries.join('')}</feed>`);
  };
  h.pages['*'] = status(404); // their own documents
  const id = await h.add({ kind: 'sec_form_d' });
  await h.poller.start();
  await h.ended(1);
  for (let run = 0; run < 3; run++) await nextRun(h, id);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 150, lastError: null });
});

test('a monthly thread that cannot be read does not hide the other one', async () => {
  const h = await createHarness();
  const hits = ['1', '2'].map((objectID) => ({ objectID, title: 'Ask HN: Who is hiring?' }));
  h.pages['/api/v1/search_by_date'] = json({ hits });
  h.pages['/api/v1/items/1'] = ERROR;
  h.pages['/api/v1/items/2'] = json({ children: [{ id: 7, created_at: AT, text: wanting('CRM') }] });
  const id = await h.add({ kind: 'hackernews_hiring', settings: settings({ query: 'crm' }) });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ signalsMade: 1, lastError: { code: 'http_status' } });
  h.pages['/api/v1/items/1'] = json({ children: [{ id: 5, created_at: AT, text: wanting('CRM tool') }] });
  await nextRun(h, id);
  expect(await h.source(id)).toMatchObject({ signalsMade: 2, lastError: null });
});

test('discussions on GitHub that cannot be read hide no issues, and none of them is missed', async () => {
  const h = await createHarness();
  const issue = { html_url: 'https://github.com/a/b/issues/1', title: wanting('CRM'), created_at: AT };
  h.pages['/search/issues'] = json({ items: [issue] });
  h.pages['/graphql'] = status(401);
  const token = SECRET_BOX.seal('ghp_x', 'source/src_1/token').toString('base64');
  const id = await h.add({ kind: 'github', settings: settings({ query: 'crm' }), secrets: { token } });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ signalsMade: 1, lastError: { code: 'unauthorized' } });
  const nodes = [
    { url: 'https://github.com/a/b/discussions/2', title: wanting('phone system'), createdAt: AT },
  ];
  h.pages['/graphql'] = json({ data: { search: { nodes } } });
  await nextRun(h, id);
  expect(await h.source(id)).toMatchObject({ signalsMade: 2, lastError: null });
});

test('a run whose time is up amid the details keeps what was read', async () => {
  const item = (id: string) => ({
    id,
    platform: 'p',
    url: '',
    postedAt: null,
    title: '',
    body: '',
    author: '',
  });
  const fault = new SourceFault('timeout', 'cancelled');
  const read = async (one: SourceItem) => {
    if (one.id === '2') throw fault;
    return one;
  };
  const task = { isNew: () => true, isOver: () => true };
  const wanted = [item('1'), item('2'), item('3')];
  expect(await readDetails(task, wanted, 3, read)).toEqual({ items: [item('1')], fault, more: true });
  await expect(readDetails(task, wanted.slice(1), 3, read)).rejects.toBe(fault);
});
