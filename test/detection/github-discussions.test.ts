import { expect, test } from 'vitest';
import { type ReadingTask, SITES } from '../../src/detection/reader.ts';
import { readGitHub } from '../../src/detection/sources/github.ts';
import type { FetchedPage } from '../../src/detection/web.ts';
import { START_POSITION } from '../../src/model/constants.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { parse, settings } from './harness.ts';

const OLDEST = T0 - 7_200_000;
const at = (second: number) => new Date(OLDEST + second * 1_000).toISOString();

/** Reads once, of one issue or discussion a second that the search finds, as of `newestAt`. */
async function readOnce(given: { issues: number; discussions: number }, newestAt: number | null) {
  const from = (newestAt ?? OLDEST) - OLDEST;
  const upTo = (count: number, page: number) =>
    Array.from({ length: count }, (_, n) => n)
      .filter((n) => n * 1_000 >= from)
      .slice((page - 1) * 100, page * 100);
  return readGitHub({
    source: aSource({ kind: 'github', settings: settings({ query: 'crm' }) }),
    ...{ position: { ...START_POSITION, newestAt }, now: T0, oldest: OLDEST, sites: SITES, parse },
    ...{ secrets: { token: 'ghp_x' }, isNew: () => true, isOver: () => false },
    web: {
      read: async (address) => {
        const url = new URL(address);
        const answer = url.pathname.endsWith('/graphql')
          ? {
              data: {
                search: {
                  nodes: upTo(given.discussions, 1).map((n) => ({
                    url: `d${n}`,
                    title: 't',
                    createdAt: at(n),
                  })),
                },
              },
            }
          : {
              items: upTo(given.issues, Number(url.searchParams.get('page'))).map((n) => ({
                html_url: `i${n}`,
                title: 't',
                created_at: at(n),
              })),
            };
        return {
          status: 200,
          headers: {},
          url: address,
          body: Buffer.from(JSON.stringify(answer)),
        } as FetchedPage;
      },
      hold: async () => {},
      listen: async () => {},
    },
  } as ReadingTask);
}

test.each([
  ['a thousand issues', { issues: 1_500, discussions: 50 }],
  ['a page of discussions', { issues: 250, discussions: 240 }],
])('no discussion is missed because there is more than %s', async (_, given) => {
  const read = new Set<string>();
  let newestAt: number | null = null;
  for (let runs = 0, more = true; more && runs < 10; runs++) {
    const reading = await readOnce(given, newestAt);
    for (const { id } of reading.items) read.add(id);
    newestAt = reading.position.newestAt ?? null;
    more = reading.more === true;
  }
  const expected = [given.issues, given.discussions].reduce((sum, count) => sum + count);
  expect(read.size).toBe(expected);
});
