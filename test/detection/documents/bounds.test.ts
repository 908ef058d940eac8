import { expect, test } from 'vitest';
import { boundedItem, boundedItems } from '../../../src/detection/documents/parser.ts';
import { itemKey, type SourceItem, toPost } from '../../../src/detection/source-item.ts';

const anItem = (overrides: Partial<SourceItem> = {}): SourceItem => ({
  id: '1',
  platform: 'forum',
  url: 'https://forum.example/1',
  postedAt: 0,
  title: 'Which CRM?',
  body: 'For a small firm.',
  author: 'Dana',
  ...overrides,
});

test('leaves an ordinary item unchanged', () => {
  const item = anItem({
    company: { name: 'Acme', location: 'Berlin' },
    idScope: 'a',
    signalType: 'qa_forum',
  });
  expect(boundedItem(item)).toEqual(item);
});

test('cuts texts between characters, replaces a long ID with its digest, and omits a long URL', () => {
  const long = '🚀'.repeat(30_000);
  const item = anItem({
    id: long,
    url: `https://forum.example/${'x'.repeat(2_048)}`,
    body: long,
    author: long,
  });
  expect(boundedItem(item)).toMatchObject({
    id: itemKey({ id: long }),
    url: '',
    body: '🚀'.repeat(20_000),
    author: '🚀'.repeat(300),
  });
});

test('replaces half surrogate pairs', () => {
  const half = '\ud83d';
  const of = { id: half, idScope: half, title: half, body: half, author: half, department: half };
  const item = boundedItem(anItem({ ...of, company: { name: half, location: half, industry: half } }));
  expect(JSON.stringify(item)).not.toContain('\\ud83d');
});

test('an author is cut between characters', () => {
  const post = toPost(anItem({ author: `${'a'.repeat(199)}🚀` }));
  expect(post?.prospect).toEqual({ name: 'a'.repeat(199) });
});

test('keeps the first items, up to a total length of their texts', () => {
  const numbered = (count: number, body: string) =>
    Array.from({ length: count }, (_, i) => anItem({ id: String(i), body }));
  expect(boundedItems(numbered(600, 'x')).map(({ id }) => id)).toEqual(
    Array.from({ length: 500 }, (_, i) => `${i}`),
  );
  const kept = boundedItems(numbered(500, 'x'.repeat(20_000)));
  expect(kept.length).toBeGreaterThan(250);
  expect(kept.length).toBeLessThan(320);
  const scoped = numbered(5_000, 'x').map((item) => ({ ...item, idScope: 'y'.repeat(2_048) }));
  expect(boundedItems(scoped, 5_000).length).toBeLessThan(3_100);
});

test('finds tools in the whole text of a job', () => {
  const body = `${'Duties. '.repeat(3_000)}You know Salesforce.`;
  expect(boundedItem(anItem({ department: '', body }))).toMatchObject({ tools: ['Salesforce'] });
});
