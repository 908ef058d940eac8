import { run } from '../../test/cli/process.ts';
import { START_FLAGS } from '../../test/support/start-flags.ts';
import { startChild } from '../child.ts';
import { type Figure, median, percentile } from '../report.ts';
import { type BenchData, prepareData, RARE_WORD } from '../signals/data.ts';
import type { Order } from '../signals/server.ts';
import { type Browser, openBrowser } from './browser.ts';

const WARM_UP = 5;
const TURNS = 60;
/** What a screen may take at p95, and a first visit weigh. */
const TARGET_MS = 50;
const TARGET_BYTES = 150_000;
const PASSWORD = 'a benchmark of a password';

/**
 * Screens of the dashboard with a million signals in the database, one request after the other over loopback: from the request to the
 * last byte of the page. And what a first visit takes over the wire, stylesheet, scripts and icon included.
 */
export async function benchDashboard(): Promise<Figure[]> {
  const data = await prepareData();
  const { child } = await startChild(new URL('../signals/server.ts', import.meta.url), START_FLAGS);
  try {
    const url = await child.ask<string>({ open: data.dataDir } satisfies Order);
    const browser = await openBrowser(url);
    await browser.signIn(await linkOf(data), PASSWORD);
    const figures: Figure[] = [];
    for (const [name, path] of await screensOf(browser, data))
      figures.push(await timeScreen(browser, name, path));
    return [...figures, await weighFirstVisit(browser)];
  } finally {
    child.end();
  }
}

async function linkOf({ dataDir, tenantId }: BenchData): Promise<string> {
  const { stdout, stderr } = await run(['tenant', 'setup-link', tenantId], { DATA_DIR: dataDir });
  const [, token] = /token=([\w-]+)/.exec(stdout) ?? [];
  if (token === undefined) throw new Error(`no set-up link: ${stdout}${stderr}`);
  return token;
}

async function screensOf(browser: Browser, { profileId }: BenchData): Promise<[string, string][]> {
  const feed = await browser.get('/dashboard/signals');
  const [signal = ''] = /sig_[0-9a-z]{20,}/.exec(feed.body) ?? [];
  return [
    ['Today', '/dashboard'],
    ['feed', '/dashboard/signals'],
    ['feed, a rare word', `/dashboard/signals?q=${RARE_WORD}`],
    ['a signal', `/dashboard/signals/${signal}`],
    ['companies', '/dashboard/companies'],
    ['leads', '/dashboard/leads'],
    ['pipeline', '/dashboard/pipeline'],
    ['a profile', `/dashboard/profiles/${profileId}`],
    ['webhook logs', '/dashboard/webhook-logs'],
    ['events', '/dashboard/webhook-logs/events'],
    ['palette, a word', '/dashboard/find?q=software'],
    ['palette, nothing found', '/dashboard/find?q=zzzzzz'],
    ['plan and usage', '/dashboard/settings/plan'],
  ];
}

async function timeScreen(browser: Browser, name: string, path: string): Promise<Figure> {
  const times: number[] = [];
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    const started = performance.now();
    const { status } = await browser.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    if (turn >= WARM_UP) times.push(performance.now() - started);
  }
  const p95 = rounded(percentile(times, 0.95));
  return {
    bench: 'dashboard',
    variant: name,
    ours: p95,
    floor: TARGET_MS,
    ratio: rounded(TARGET_MS / p95),
    unit: 'ms at p95',
    target: 'ratio at least 1',
    median_ms: rounded(median(times)),
  };
}

async function weighFirstVisit(browser: Browser): Promise<Figure> {
  const page = await browser.get('/dashboard/signals');
  const paths = [...page.body.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  );
  let bytes = page.bytes;
  for (const path of new Set(paths)) bytes += (await browser.get(path)).bytes;
  return {
    bench: 'dashboard',
    variant: 'first visit of the feed, everything included',
    ours: bytes,
    floor: TARGET_BYTES,
    ratio: rounded(TARGET_BYTES / bytes),
    unit: 'bytes over the wire',
    target: 'ratio at least 1',
  };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
