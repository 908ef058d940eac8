import { run } from '../../test/cli/process.ts';
import { START_FLAGS } from '../../test/support/start-flags.ts';
import { type Child, startChild } from '../child.ts';
import { type Figure, median, percentile } from '../report.ts';
import { type BenchData, prepareData, RARE_WORD } from '../signals/data.ts';
import { wordOf } from '../signals/posts.ts';
import type { Order } from '../signals/server.ts';
import { type Browser, openBrowser } from './browser.ts';

const WARM_UP = 5;
const TURNS = 60;
/** The limits for a screen's p95, and for the size of a first visit. */
const TARGET_MS = 50;
const TARGET_BYTES = 60_000;
const PASSWORD = 'a benchmark of a password';

/**
 * Screens of the dashboard with a million signals in the database, one request after the other over loopback, from the request to the
 * last byte of the page; and the bytes transferred on a first visit, including stylesheet, scripts and icon.
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
      figures.push(await timeScreen({ browser, child }, name, path));
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
  /** The ID of the first item of a kind in a list. */
  const first = async (list: string, prefix: string) => {
    const [id = ''] =
      new RegExp(`${prefix}_[0-9a-z]{20,}`).exec((await browser.get(`/dashboard${list}`)).body) ?? [];
    return id;
  };
  const signals: [string, string][] = [
    ['Today', ''],
    ['inbox', '/signals'],
    ['inbox, hot', '/signals?classification=hot'],
    ['inbox, all classes', '/signals?classification=hot%2Cwarm%2Ccold'],
    ['inbox, best first', '/signals?sort=-icp_score'],
    ['inbox, assigned', '/signals?assignee=me'],
    ['snoozed', '/signals?state=snoozed'],
    ['done', '/signals?state=done'],
    ['all signals', '/signals?state=all'],
    ['all signals, best first', '/signals?state=all&sort=-icp_score'],
    ['signals, a rare word', `/signals?q=${RARE_WORD}`],
    ['signals, a common word', `/signals?q=${wordOf(0)}`],
    ['a hot signal', `/signals/${await first('/signals?classification=hot', 'sig')}`],
    ['profiles', '/profiles'],
    ['a profile', `/profiles/${profileId}`],
    ['sources', '/sources'],
    ['suggested sources', '/sources/suggested'],
    ['first run', '/start'],
  ];
  const people: [string, string][] = [
    ['companies', '/companies'],
    ['companies, last active first', '/companies?sort=-last_signal_at'],
    ['companies, part of a name', '/companies?q=firm 4999'],
    ['a company', '/companies/firm1.example'],
    ['leads', '/leads'],
    ['leads, best first', '/leads?sort=-icp_score'],
    ['leads, a stage', '/leads?stage=won'],
    ['leads, a word', '/leads?q=firm'],
    ['a lead', `/leads/${await first('/leads', 'led')}`],
    ['pipeline', '/pipeline'],
    ['campaigns', '/campaigns'],
  ];
  const webhooks: [string, string][] = [
    ['webhooks', '/settings/integrations/webhooks'],
    ['a webhook', `/settings/integrations/webhooks/${await first('/settings/integrations/webhooks', 'whk')}`],
    ['webhook logs', '/webhook-logs'],
    ['webhook logs, delivered', '/webhook-logs?status=delivered'],
    ['webhook logs, held', '/webhook-logs?status=held'],
    ['webhook logs, discarded', '/webhook-logs?status=discarded'],
    ['a delivery', `/webhook-logs/${await first('/webhook-logs', 'dlv')}`],
    ['dead letters', '/dead-letters'],
    ['events', '/webhook-logs/events'],
    ['plan and usage', '/settings/plan'],
    ['audit', '/settings/audit'],
    ['digest', '/settings/digest'],
    ['team', '/settings/team'],
    ['account', '/settings/account'],
    ['API keys', '/settings/api-keys'],
    ['account mail', '/settings/outbox'],
  ];
  const palette: [string, string][] = [
    ['palette, a word', '/find?q=software'],
    ['palette, a common word', `/find?q=${wordOf(0)}`],
    ['palette, a prefix of many words', `/find?q=${wordOf(0).slice(0, 2)}`],
    ['palette, one letter', '/find?q=f'],
    ['palette, a prefix of every company and lead', '/find?q=fir'],
    ['palette, two prefixes', '/find?q=book sys'],
    ['palette, nothing found', '/find?q=zzzzzz'],
  ];
  return [...signals, ...people, ...webhooks, ...palette].map(([name, path]) => [
    name,
    `/dashboard${path.replaceAll(' ', '%20')}`,
  ]);
}

async function timeScreen(
  { browser, child }: { browser: Browser; child: Child },
  name: string,
  path: string,
): Promise<Figure> {
  const times: number[] = [];
  const used: number[] = [];
  const usedMs = () => child.ask<number>('used' satisfies Order);
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    const usedBefore = await usedMs();
    const started = performance.now();
    const { status } = await browser.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    if (turn < WARM_UP) continue;
    times.push(performance.now() - started);
    used.push((await usedMs()) - usedBefore);
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
    // On a shared machine, this is the reliable figure.
    processor_p95_ms: rounded(percentile(used, 0.95)),
    processor_median_ms: rounded(median(used)),
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
