import { editDistance } from '../http/suggest.ts';
import type { Page } from './content/site-content.ts';

const MOST = 3;
/** Longer paths are compared by their start: the comparison takes time in the product of the lengths. */
const MAX_COMPARED = 64;
/** Half the letters right is a slip of the pen; less is another word. */
const NEAR_ENOUGH = 0.5;

/** The pages that a mistaken path was most likely meant for, nearest first; the home page where none is near. */
export function nearestPages(path: string, pages: readonly Page[]): Page[] {
  const asked = wordsOf(readable(path));
  const near = pages
    .map((page) => ({ page, likeness: likeness(asked, wordsOf(page.path)) }))
    .filter((candidate) => candidate.likeness >= NEAR_ENOUGH)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, MOST)
    .map(({ page }) => page);
  return near.length > 0 ? near : pages.filter((page) => page.path === '/');
}

/** 1 for the same path, and nearly that for the same last part under another roof. */
function likeness(asked: readonly string[], known: readonly string[]): number {
  if (known.length === 0) return 0;
  const whole = similarity(asked.join('/'), known.join('/'));
  const last = similarity(asked.at(-1) ?? '', known.at(-1) ?? '');
  return Math.max(whole, last * 0.95);
}

function similarity(a: string, b: string): number {
  const longer = Math.max(a.length, b.length);
  return longer === 0 ? 0 : 1 - editDistance(a, b) / longer;
}

function wordsOf(path: string): string[] {
  return path.split('/').filter((word) => word !== '');
}

function readable(path: string): string {
  const bare = path.slice(0, MAX_COMPARED).replace(/\.(md|html?|php)$/i, '');
  try {
    return decodeURIComponent(bare).toLowerCase();
  } catch {
    return bare.toLowerCase();
  }
}
