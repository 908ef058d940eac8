import { expect, test } from 'vitest';
import { canonicalUrl } from '../../src/signals/origin.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

test.each([
  [
    'http://www.Reddit.com/r/a/comments/1/x/?utm_source=share&context=3#c',
    'https://reddit.com/r/a/comments/1/x#c',
  ],
  ['https://x.example/p#:~:text=a%20crm', 'https://x.example/p'],
  ['https://x.example/p/#', 'https://x.example/p'],
  ['https://old.reddit.com/r/a/comments/1/x', 'https://reddit.com/r/a/comments/1/x'],
  ['https://news.ycombinator.com/item?id=1&ref=x', 'https://news.ycombinator.com/item?id=1'],
  ['https://x.example/p?b=2&a=1', 'https://x.example/p?a=1&b=2'],
  ['https://x.example:443/', 'https://x.example'],
])('%s has the canonical URL %s', (url, canonical) => {
  expect(canonicalUrl(url)).toBe(canonical);
});

test('different posts stay different', () => {
  expect(canonicalUrl('https://x.example/item?id=1')).not.toBe(canonicalUrl('https://x.example/item?id=2'));
});

test('two posts on one page are distinguished by the fragment', () => {
  expect(canonicalUrl('https://x.example/thread#1')).not.toBe(canonicalUrl('https://x.example/thread#2'));
});

test('text that is not a URL has no canonical URL', () => {
  expect(canonicalUrl('')).toBeNull();
});

test('canonicalising a URL with 2,000 slashes five hundred times is fast', () => {
  const address = `https://example.com/${'/'.repeat(2_000)}x`;
  const ms = cpuMsOf(() => {
    for (let i = 0; i < 2_000; i++) canonicalUrl(address);
  });
  expect(ms).toBeLessThan(1_000);
});
