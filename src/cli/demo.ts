import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { createTenant } from '../accounts/tenants.ts';
import { type Clock, HOUR_MS, toHttpDate, toIso } from '../lib/clock.ts';
import { largestOf } from '../lib/lists.ts';
import { inPackage } from '../lib/package.ts';
import { escapeHtml, excerpt } from '../lib/text.ts';
import { portOf } from './arguments.ts';
import { CommandError, type Ports } from './ports.ts';
import { deliveryLines, isGenuine, startReceiver } from './receiver.ts';
import { fetchText } from './request.ts';

const SAMPLES = inPackage('data/samples.jsonl');
const USUAL_PORT = 3000;
const DELIVERY_TIMEOUT_MS = 60_000;

/** `demo`: follows posts from the HTTP API to verified deliveries, without configuration. */
export function addDemo(parent: Command, ports: Ports): void {
  parent
    .command('demo')
    .description('show sample posts scored and delivered, with nothing to configure')
    .option('--once', 'exit when all sample deliveries have arrived')
    .option('--sources', 'also read sources live, from a small site on this machine')
    .action((options: DemoOptions) => demo(ports, options));
}

interface DemoOptions {
  once?: true;
  sources?: true;
}

/** Resources opened so far; they are closed in reverse order however the demo ends. */
type Undo = (() => Promise<unknown>)[];

async function demo(ports: Ports, options: DemoOptions): Promise<void> {
  const undo: Undo = [];
  // Ends with the end of the demo, an error, or Ctrl-C, whichever happens first.
  let ending: Promise<void> | null = null;
  const end = () => {
    ending ??= undoAll(undo);
    return ending;
  };
  ports.onStop(async () => {
    ports.out('Stopping. The demo data is removed.');
    await end();
  });
  try {
    await show(ports, undo, options);
    if (options.once) await end();
  } catch (error) {
    await end();
    throw error;
  }
}

async function undoAll(undo: Undo): Promise<void> {
  for (const step of undo.toReversed()) await step();
}

async function show(ports: Ports, undo: Undo, { once, sources }: DemoOptions): Promise<void> {
  const count = createDeliveryCount(ports.clock, DELIVERY_TIMEOUT_MS);
  let secret: string | null = null;
  const receiver = await startReceiver({
    port: 0,
    clock: ports.clock,
    secret: () => secret,
    status: 200,
    delayMs: 0,
    onDelivery(delivery) {
      for (const line of deliveryLines(delivery)) ports.out(`     → ${line}`);
      if (isGenuine(delivery)) count.add();
    },
  });
  undo.push(() => receiver.close());
  const site = sources ? await openSite(ports, undo) : null;
  const { url, apiKey } = await startDemoServer(ports, undo, site);
  const api = createDemoApi({ clock: ports.clock, url, apiKey });
  secret = await api.createWebhook(receiver.url);

  ports.out(`The server is at ${url}. A receiver at ${receiver.url} gets its warm and hot signals.\n`);
  await observeSamples(ports, api, count);
  if (site !== null) await showSources({ clock: ports.clock, api, site, count, out: ports.out });
  await count.complete();
  ports.out(`\nAll ${count.expected()} deliveries of warm and hot signals arrived and were verified.`);
  if (once) return;
  ports.out(`\nPost one more and see it delivered here:\n\n${curlCommand(url, apiKey)}\n`);
  ports.out(
    `Signals so far: ${url}/v1/signals (with the same Authorization header). Press Ctrl-C to stop.\n`,
  );
}

async function openSite(ports: Ports, undo: Undo): Promise<DemoSite> {
  const site = await startDemoSite(ports.clock, (line) => ports.out(`     ← ${line}`));
  undo.push(() => site.close());
  return site;
}

async function startDemoServer(
  ports: Ports,
  undo: Undo,
  site: DemoSite | null,
): Promise<{ url: string; apiKey: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'signalpost-demo-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const { port, release } = await demoPort(ports.env);
  undo.push(release);
  const env = {
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATA_DIR: folder,
    WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8,::1/128',
    ...(site && { SOURCE_SITES: JSON.stringify({ lever: site.url }) }),
  };
  const opened = await ports.open({ env, log: 'faults', takesPosts: true });
  try {
    const account = { name: 'Demo', email: 'owner@demo.example', plan: 'trial' } as const;
    const { apiKey } = await createTenant(opened, account);
    await release();
    const server = await opened.start();
    undo.push(() => server.stop());
    return { url: server.url, apiKey };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function observeSamples(ports: Ports, api: DemoApi, count: DeliveryCount): Promise<void> {
  for (const post of await samplePosts(ports.clock)) {
    const signal = await api.observe(JSON.stringify(post));
    if (signal.classification !== 'cold') count.expect();
    ports.out(signalLine(signal));
  }
}

const samplePost = z.looseObject({ platform: z.looseObject({ posted_at: z.iso.datetime() }) });

/**
 * The samples, shifted so that the last one was written an hour ago: posts that are weeks old are cold, whatever they
 * say.
 */
async function samplePosts(clock: Clock): Promise<object[]> {
  const lines = (await readFile(SAMPLES, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const posts = lines.map((line) => samplePost.parse(JSON.parse(line)));
  const writtenAt = posts.map(({ platform }) => Date.parse(platform.posted_at));
  const later = clock.now() - HOUR_MS - largestOf(writtenAt);
  return posts.map(({ platform, ...post }, at) => ({
    ...post,
    platform: { ...platform, posted_at: toIso((writtenAt[at] ?? 0) + later) },
  }));
}

/** A port reserved until it is released. */
interface HeldPort {
  port: number;
  release(): Promise<void>;
}

/**
 * PORT if it is set (startup reports an error if it is in use); otherwise the default port if it is free, or any free
 * port.
 */
async function demoPort(env: NodeJS.ProcessEnv): Promise<HeldPort> {
  const wanted = portOf(env) ?? 0;
  if (wanted !== 0) return { port: wanted, release: async () => {} };
  return (await holdPort(USUAL_PORT)) ?? (await holdPort(0)) ?? fail('There is no free port on 127.0.0.1.');
}

/** Opening the store takes a second or more, during which another demo could find the same port free. */
function holdPort(port: number): Promise<HeldPort | null> {
  return new Promise((resolve) => {
    const holder = createServer();
    holder.once('error', () => resolve(null));
    holder.listen(port, '127.0.0.1', () => {
      const { port: got } = holder.address() as AddressInfo;
      resolve({ port: got, release: () => new Promise((done) => holder.close(() => done())) });
    });
  });
}

function fail(message: string): never {
  throw new CommandError(message);
}

interface SourcesPart {
  clock: Clock;
  api: DemoApi;
  site: DemoSite;
  count: DeliveryCount;
  out(line: string): void;
}

const READ_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;

/**
 * Reads sources live: a forum, through the feed that its page links to, and a company's jobs; then the forum again.
 */
async function showSources({ clock, api, site, count, out }: SourcesPart): Promise<void> {
  out(
    `\nA small site at ${site.url} has a forum and a company's job board. Both are added as sources and read:\n`,
  );
  const forum = await api.createSource({ kind: 'rss', name: 'Forum', url: `${site.url}/forum/` });
  const jobs = await api.createSource({ kind: 'lever', name: 'Jobs', board: 'northgate' });
  const before = await readOnce(forum);
  await readOnce(jobs);
  out(
    '\nSomebody writes another thread, and the forum is read again; what was read before makes no second signal:\n',
  );
  site.post();
  await api.runSource(forum.id);
  await readOnce(forum, before);

  async function readOnce({ id }: ScannedSource, last: ScannedSource | null = null): Promise<ScannedSource> {
    const until = clock.monotonic() + READ_WITHIN_MS;
    for (;;) {
      const source = await api.readSource(id);
      if (source.last_run_at !== null && source.last_run_at !== last?.last_run_at) return told(source, last);
      if (clock.monotonic() > until)
        throw new CommandError(`The source "${source.name}" was not read in time.`);
      await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  function told(source: ScannedSource, last: ScannedSource | null): ScannedSource {
    const { name, last_error: error } = source;
    if (error !== null) throw new CommandError(`The source "${name}" was not read: ${error.message}`);
    const read = source.items_seen - (last?.items_seen ?? 0);
    const made = source.signals_made - (last?.signals_made ?? 0);
    for (let i = 0; i < made; i++) count.expect();
    out(`     ${name}: ${read} new post${read === 1 ? '' : 's'}, ${made} signal${made === 1 ? '' : 's'}`);
    return source;
  }
}

const MARKS: Record<string, string> = { hot: 'HOT ', warm: 'warm', cold: 'cold' };

/** A scored signal in one line: score, classification, platform, excerpt, and the most important factor. */
function signalLine({ icp_score, classification, platform, ...signal }: ScoredSignal): string {
  const { factors, negatives } = signal.explanation;
  const strongest = [...negatives, ...factors].sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
  // For a cold post, the most important factor is the strongest negative one.
  const against = classification === 'cold' ? strongest.find(({ points }) => points < 0) : undefined;
  const top = against ?? strongest[0];
  const reason = top
    ? `${top.label} ${top.points > 0 ? '+' : ''}${top.points}`
    : 'Nothing suggests a purchase';
  const head = `${String(icp_score).padStart(3)}  ${MARKS[classification] ?? classification}`;
  const text = excerpt(signal.excerpt.replace(/\s+/g, ' '), 60);
  return `${head}  ${platform.name.padEnd(11)} ${text.padEnd(60)}  ${reason}`;
}

/** A command that posts one more signal; its text needs no quoting in a shell. */
function curlCommand(url: string, apiKey: string): string {
  const post = {
    platform: { name: 'reddit' },
    text: 'Looking for a new booking tool for our plumbing firm, budget approved, need it by Friday. Any recommendations?',
  };
  return [
    `curl -sS -X POST ${url}/v1/signals \\`,
    `  -H 'Authorization: Bearer ${apiKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(post)}'`,
  ].join('\n');
}

/** Compares deliveries with those expected; a delivery may arrive before it is expected. */
interface DeliveryCount {
  expect(): void;
  add(): void;
  expected(): number;
  /** Resolves when all expected deliveries have arrived. @throws CommandError on timeout */
  complete(): Promise<void>;
}

function createDeliveryCount(clock: Clock, timeoutMs: number): DeliveryCount {
  let expected = 0;
  let came = 0;
  let whenComplete = (): void => undefined;
  return {
    expect() {
      expected++;
    },
    add() {
      came++;
      if (came >= expected) whenComplete();
    },
    expected: () => expected,
    complete() {
      if (came >= expected) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const late = () =>
          reject(new CommandError(`${expected - came} of ${expected} deliveries did not arrive.`));
        const timer = clock.after(timeoutMs, late);
        whenComplete = () => {
          timer.cancel();
          resolve();
        };
      });
    },
  };
}

const TIMEOUT_MS = 30_000;

const webhookAnswer = z.object({ data: z.object({ id: z.string(), secret: z.string() }) });
const postAnswer = z.object({
  data: z.object({ signals: z.tuple([z.object({ signal_id: z.string() })]).rest(z.unknown()) }),
});
const factor = z.object({ points: z.number(), label: z.string() });
const signalAnswer = z.object({
  data: z.object({
    icp_score: z.number(),
    classification: z.string(),
    excerpt: z.string(),
    platform: z.object({ name: z.string() }),
    explanation: z.object({ factors: z.array(factor), negatives: z.array(factor) }),
  }),
});
type ScoredSignal = z.infer<typeof signalAnswer>['data'];

const sourceAnswer = z.object({
  data: z.object({
    id: z.string(),
    name: z.string(),
    last_run_at: z.string().nullable(),
    last_error: z.object({ message: z.string() }).nullable(),
    items_seen: z.number(),
    signals_made: z.number(),
  }),
});
type ScannedSource = z.infer<typeof sourceAnswer>['data'];

/** The demo's client of the HTTP API; other clients can do the same. */
interface DemoApi {
  /** Creates an endpoint for warm and hot signals; resolves with its secret. */
  createWebhook(url: string): Promise<string>;
  /** Sends one observed post, as JSON text, and reads its score. */
  observe(post: string): Promise<ScoredSignal>;
  createSource(source: object): Promise<ScannedSource>;
  readSource(id: string): Promise<ScannedSource>;
  /** Requests a run, without waiting for it. */
  runSource(id: string): Promise<ScannedSource>;
}

function createDemoApi(deps: { clock: Clock; url: string; apiKey: string }): DemoApi {
  async function call<T>(answer: z.ZodType<T>, path: string, body?: string): Promise<T> {
    const headers = { authorization: `Bearer ${deps.apiKey}`, 'content-type': 'application/json' };
    const { status, text } = await fetchText(deps.clock, {
      url: `${deps.url}${path}`,
      timeoutMs: TIMEOUT_MS,
      headers,
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
    if (status >= 200 && status < 300) return answer.parse(JSON.parse(text));
    throw new CommandError(`${path} returned ${status}: ${text}`);
  }

  return {
    async createWebhook(url) {
      const settings = { url, label: 'Demo receiver', classifications: ['hot', 'warm'] };
      return (await call(webhookAnswer, '/v1/webhooks', JSON.stringify(settings))).data.secret;
    },
    async observe(post) {
      const [signal] = (await call(postAnswer, '/v1/signals', post)).data.signals;
      return (await call(signalAnswer, `/v1/signals/${signal.signal_id}`)).data;
    },
    createSource: async (source) => (await call(sourceAnswer, '/v1/sources', JSON.stringify(source))).data,
    readSource: async (id) => (await call(sourceAnswer, `/v1/sources/${id}`)).data,
    runSource: async (id) => (await call(sourceAnswer, `/v1/sources/${id}/run`, '')).data,
  };
}

/** A small local site with sources: a forum whose page links to its feed, and a company's jobs. */
interface DemoSite {
  url: string;
  /** Adds a thread to the forum. */
  post(): void;
  close(): Promise<void>;
}

const THREADS = [
  'We are looking for scheduling software for nine vans, any recommendations? The budget is approved and we need it this month.',
  'Photos of the boiler that we took out last week. It was older than me.',
  'Can anyone recommend a help desk for a plumbing firm? We are comparing three and have to buy before the end of the month.',
  'What did you all have for lunch on site today?',
];
const LATE_THREAD =
  'Our booking tool shuts down in June. Which alternative would you buy? We need a quote this week, budget approved.';

const JOBS = [
  {
    id: 'job-1',
    title: 'Dispatcher',
    department: 'Operations',
    text: 'You plan the day of our crews in ServiceTitan and answer the phone.',
  },
  {
    id: 'job-2',
    title: 'Head of Operations',
    department: 'Operations',
    text: 'We are looking for someone who replaces our spreadsheets: you evaluate and buy a new CRM this quarter, budget approved. Salesforce or HubSpot experience helps.',
  },
];

/** Starts the site on a free port. `onRequest` is called for each request, like an access log. */
async function startDemoSite(clock: Clock, onRequest: (line: string) => void): Promise<DemoSite> {
  const threads = [...THREADS];
  const startedAt = clock.now();
  const server = createHttpServer((request, response) => {
    const path = request.url?.split('?')[0] ?? '/';
    response.once('finish', () => onRequest(`${request.method} ${path} ${response.statusCode}`));
    answer(request, response, path);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function answer(request: IncomingMessage, response: ServerResponse, path: string): void {
    const etag = `"${threads.length}"`;
    const send = (type: string, body: string) =>
      response.writeHead(200, { 'content-type': type, etag }).end(body);
    if (path === '/robots.txt') response.end('User-agent: *\nDisallow: /private/\n');
    else if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end();
    else if (path === '/forum/') send('text/html; charset=utf-8', forumPage());
    else if (path === '/forum/feed.xml') send('application/rss+xml', feed());
    else if (path === '/v0/postings/northgate') send('application/json', JSON.stringify(JOBS.map(posting)));
    else response.writeHead(404).end();
  }

  function forumPage(): string {
    const link = '<link rel="alternate" type="application/rss+xml" href="feed.xml">';
    return `<!doctype html><html lang="en"><head><title>Forum</title>${link}</head><body><h1>Forum</h1></body></html>`;
  }

  function feed(): string {
    const items = threads.map((text, i) => {
      const number = i + 1;
      const link = `${url}/forum/${number}`;
      return `<item><guid>${link}</guid><link>${link}</link><title>Thread ${number}</title><pubDate>${toHttpDate(startedAt)}</pubDate><description>${escapeHtml(text)}</description></item>`;
    });
    return `<rss version="2.0"><channel><title>Forum</title>${items.toReversed().join('')}</channel></rss>`;
  }

  function posting({ id, title, department, text }: (typeof JOBS)[number]): object {
    return {
      ...{ id, text: title, hostedUrl: `${url}/jobs/${id}`, createdAt: startedAt, descriptionPlain: text },
      categories: { department, location: 'Leeds' },
    };
  }

  return {
    url,
    post: () => void threads.push(LATE_THREAD),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
