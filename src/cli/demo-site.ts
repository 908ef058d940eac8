import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Clock, toHttpDate } from '../lib/clock.ts';
import { escapeHtml } from '../lib/text.ts';

/** A small site on this machine with what sources read: a forum whose page names its feed, and a company's jobs. */
export interface DemoSite {
  url: string;
  /** One more thread in the forum. */
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

/** Starts the site on a free port. `onRequest` is called for each request, as an access log would show it. */
export async function startDemoSite(clock: Clock, onRequest: (line: string) => void): Promise<DemoSite> {
  const threads = [...THREADS];
  const startedAt = clock.now();
  const server = createServer((request, response) => {
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
