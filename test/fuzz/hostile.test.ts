import { expect, test } from 'vitest';
import { describeMeasured, hostileCases, measureHostile } from './hostile/run.ts';

/** One of each kind of input that once crashed or nearly stopped the process; `npm run fuzz -- --hostile` has all. */
const CHOSEN = [
  'path: / and slashes',
  'path: /dashboard/ and slashes',
  'path: OPTIONS of slashes',
  'header: accept of many items, /',
  'header: accept-encoding of many items, /',
  'header: if-none-match of many items, /',
  'pipeline: 2,500 of GET /nowhere on each of 24 connections',
  'pipeline: 2,500 of GET /dashboard/login on each of 24 connections',
  'chunks: 20,000 of a byte, POST /nowhere, on each of 24 connections',
  'dashboard: /login, password of combining marks',
  'dashboard: /login, password of combining marks, a megabyte',
  'dashboard: /setup, password of combining marks, a megabyte',
  'v1: createSignal, texts as long as they may be, of combining marks',
  'v1: a batch of posts of combining marks',
  'v1: suggestions of a profile with 500 judged posts, and their screen',
  'mcp: a batch of ten thousand calls',
  'mcp: a body of an object of many members, 3 deep',
  'dashboard: /signals/views, query of ampersands',
  'import: a long line',
  'import: texts of marks',
  'v1: createLeads, an item of a list of digits',
  'v1: createSignals, under a key, signals of a list of empty objects',
  'source: feed of rss, author of opening brackets',
  'source: feed of rss, description of combining marks',
  'source: feed: a base that is very long, and many links',
  'source: discourse, a list of a list of empty objects',
  'source: mastodon, very many items',
  'source: page, very many of <link',
  'source: robots.txt, "User-agent: *\\nAllow: /*" and asterisks',
  'receiver: a body of angle brackets',
  'receivers: many at once, replies of nothing but trailers',
];

test('no input makes another client wait, ends the process or counts as a server error', {
  timeout: 180_000,
}, async () => {
  const all = hostileCases();
  const cases = CHOSEN.map((name) => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no input "${name}"`);
    return found;
  });
  const measured = await measureHostile({ cases });
  const failed = measured.filter(({ fault }) => fault !== '');
  expect(failed.map(describeMeasured).join('\n')).toBe('');
});
