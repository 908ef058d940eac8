import { expect, test } from 'vitest';
import { type ReadingTask, SITES } from '../../src/detection/reader.ts';
import { readSmartRecruiters } from '../../src/detection/sources/job-boards.ts';
import type { FetchedPage } from '../../src/detection/web.ts';
import { START_POSITION } from '../../src/model/constants.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { parse, settings } from './harness.ts';

/** A run of a board whose only page lists `jobs`; `parsers` and `asked` are what it used. */
function runOf(jobs: { id: string; name: string }[], cursor: string | null, isNew: boolean) {
  const parsers: string[] = [];
  const asked: string[] = [];
  const read = async (url: string): Promise<FetchedPage> => {
    asked.push(url.slice(url.indexOf('/postings')));
    const body = Buffer.from(JSON.stringify({ totalFound: jobs.length, content: jobs }));
    return { status: 200, headers: {}, url, body };
  };
  const task: ReadingTask = {
    source: aSource({ kind: 'smartrecruiters', settings: settings({ board: 'acme' }) }),
    position: { ...START_POSITION, cursor },
    now: T0,
    oldest: 0,
    web: { read, hold: async () => {}, listen: async () => {} },
    parse: (parser, page, args) => {
      parsers.push(parser.name);
      return parse(parser, page, args);
    },
    sites: SITES,
    secrets: {},
    isNew: () => isNew,
    isOver: () => false,
  };
  return { parsers, asked, reading: readSmartRecruiters(task) };
}

const BUYER = { id: '74', name: 'Buyer' };

test('the jobs of a board are compared outside the thread that serves requests', async () => {
  const first = await runOf([BUYER, { id: '75', name: 'Clerk' }], null, false).reading;
  const cursor = first.position.cursor ?? null;
  const { parsers, reading } = runOf([{ id: '74', name: 'Head of purchasing' }], cursor, false);
  expect((await reading).items.map(({ title }) => title)).toEqual([
    'Head of purchasing',
    'Changed: Head of purchasing',
  ]);
  expect(parsers).toEqual(['smartrecruiters_jobs', 'smartrecruiters_changes']);
});

test('a job that a board lists many times is requested once', async () => {
  const { asked, reading } = runOf(Array(300).fill(BUYER), null, true);
  expect((await reading).items).toHaveLength(1);
  expect(asked).toEqual(['/postings?limit=100&offset=0', '/postings/74']);
});
