import { expect, test } from 'vitest';
import { MAX_ROBOTS_BYTES, readRobots, robotsDocument, rulesOf } from '../../src/detection/robots-rules.ts';

const read = (text: string) => rulesOf(readRobots(text, 'Signalpost'));
const allowed = (text: string, target: string) => read(text).allows(target);

// RFC 9309, sections 2.2.1 to 2.2.3.
test.each<[string, string, string, boolean]>([
  ['nothing said', '', '/a', true],
  [
    'our own group, and not that for all',
    'User-agent: *\nDisallow: /\nUser-agent: SIGNALPOST/2\nDisallow: /b',
    '/a',
    true,
  ],
  [
    'the group for all where none names us',
    'User-agent: other\nAllow: /\nUser-agent: *\nDisallow: /',
    '/a',
    false,
  ],
  [
    'several groups of ours as one',
    'User-agent: signalpost\nDisallow: /a\n\nUser-agent: signalpost\nDisallow: /b',
    '/a',
    false,
  ],
  ['a group of several', 'User-agent: x\nUser-agent: signalpost\nDisallow: /a', '/a', false],
  ['another robot whose name begins as ours', 'User-agent: signalpostbot\nDisallow: /', '/a', true],
  ['an empty rule', 'User-agent: *\nDisallow:', '/a', true],
  ['the longest match', 'User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
  ['of two equal ones the one that allows', 'User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
  ['a wildcard', 'User-agent: *\nDisallow: /*.xml', '/a/feed.xml?x', false],
  ['an end', 'User-agent: *\nDisallow: /*.xml$', '/a/feed.xml?x', true],
  ['an end that is met', 'User-agent: *\nDisallow: /*.xml$', '/a/feed.xml', false],
  ['a whole path', 'User-agent: *\nDisallow: /a$', '/ab', true],
  ['letters in percent-encoding', 'User-agent: *\nDisallow: /%7Efeed/é', '/~feed/%c3%a9', false],
  ['comments and odd spelling', ' user-AGENT : * # all\n DISALLOW : /a # no\r\n', '/a', false],
  ['robots.txt itself', 'User-agent: *\nDisallow: /', '/robots.txt', true],
])('%s', (_, text, target, expected) => {
  expect(allowed(text, target)).toBe(expected);
});

test('reads the crawl delay of a site up to a limit', () => {
  expect(read('User-agent: *\nCrawl-delay: 2.5').delayMs).toBe(2_500);
  expect(read('User-agent: *\nCrawl-delay: 86400').delayMs).toBe(600_000);
  expect(read('User-agent: *\nCrawl-delay: soon').delayMs).toBe(0);
  expect(read('User-agent: other\nCrawl-delay: 5').delayMs).toBe(0);
});

test('patterns designed to be slow are matched fast, and disallow rather than allow above the limits', () => {
  const target = `/${'a'.repeat(2_000)}`;
  const wild = `/${'*a'.repeat(2_000)}b`;
  const text = `User-agent: *\n${`Disallow: ${wild}\n`.repeat(100)}${`Disallow: /*${'a'.repeat(900)}b\n`.repeat(400)}`;
  const rules = read(text.slice(0, 512_000));
  const start = process.cpuUsage().user;
  expect(rules.allows(`/x${target}`)).toBe(false); // truncated at their wildcards
  // A backtracking matcher would take longer than the age of the universe; this one takes milliseconds.
  expect((process.cpuUsage().user - start) / 1_000).toBeLessThan(2_000);
});

test('a pattern that is too long disallows everything with the same prefix, and allows nothing', () => {
  const start = `/a${'b'.repeat(3_000)}`;
  expect(allowed(`User-agent: *\nDisallow: ${start}`, start.slice(0, 2_048))).toBe(false);
  expect(allowed(`User-agent: *\nDisallow: /a\nAllow: ${start}`, start.slice(0, 2_048))).toBe(false);
});

test('keeps only the rules of our group', () => {
  const others = `User-agent: other\n${'Disallow: /something/or/other\n'.repeat(10_000)}`;
  expect(read(`${others}User-agent: *\nDisallow: /a`).bytes).toBeLessThan(500);
});

test.each([
  ['characters of three bytes', `Disallow: /${'字'.repeat(600)}\n`],
  ['spaces', `Disallow: /${'a '.repeat(900)}b\n`],
  ['bytes that are not UTF-8', Buffer.from(`Disallow: /${'\xff'.repeat(1_900)}\n`, 'latin1')],
  ['short rules', 'allow:/\n'],
])('the rules of a file full of %s take no more memory than the file', (_, line) => {
  const lines = Array<Buffer>(70_000).fill(Buffer.from(line));
  const body = Buffer.concat([Buffer.from('User-agent: *\n'), ...lines]).subarray(0, MAX_ROBOTS_BYTES);
  const text = robotsDocument.parse({ body, contentType: '', url: '' }, { robot: 'Signalpost' });
  expect(rulesOf(text as ReturnType<typeof readRobots>).bytes).toBeLessThan(MAX_ROBOTS_BYTES + 1_000);
});

test('octets are compared, whether percent-encoded or not', () => {
  const text =
    'User-agent: *\nDisallow: /a b\nDisallow: /é*字$\nDisallow: /%2f\nDisallow: /*%2A\nDisallow: /%0a';
  for (const target of ['/a%20b', '/%C3%A9x%e5%ad%97', '/%2F', '/b%2a', '/%0A']) {
    expect([target, allowed(text, target)]).toEqual([target, false]);
  }
  for (const target of ['/a+b', '/e%e5%ad%97', '//', '/b*', '/%C3%A9x%e5%ad%97x', '/']) {
    expect([target, allowed(text, target)]).toEqual([target, true]);
  }
});
