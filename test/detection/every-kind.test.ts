import { expect, test } from 'vitest';
import type { SourceKind, SourceSettings } from '../../src/model/source.ts';
import { type Answer, status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, type Harness, SECRET_BOX, settings, wanting } from './harness.ts';

/** Every kind read over HTTP, with its required settings. Bluesky's stream is tested in stream.test.ts. */
const KINDS: [SourceKind, (origin: string) => Partial<SourceSettings>][] = [
  ['rss', (origin) => ({ url: `${origin}/feed` })],
  ['hackernews', () => ({ query: 'crm' })],
  ['hackernews_hiring', () => ({ query: 'crm' })],
  ['stackexchange', () => ({ site: 'superuser', query: 'crm' })],
  ['greenhouse', () => ({ board: 'acme' })],
  ['lever', () => ({ board: 'acme' })],
  ['ashby', () => ({ board: 'acme' })],
  ['smartrecruiters', () => ({ board: 'acme' })],
  ['recruitee', () => ({ board: 'acme' })],
  ['workable', () => ({ board: 'acme' })],
  ['sec_form_d', () => ({ query: 'acme' })],
  ['discourse', (origin) => ({ url: `${origin}/` })],
  ['lemmy', (origin) => ({ url: `${origin}/`, query: 'crm' })],
  ['mastodon', (origin) => ({ url: `${origin}/`, tag: 'crm' })],
  ['lobsters', () => ({ tag: 'ask' })],
  ['github', () => ({ query: 'crm' })],
  ['reddit', () => ({ subreddit: 'sales', client_id: 'app' })],
];

/** A source of a kind that was read once from a site with a single response. */
async function readFrom(kind: SourceKind, given: (origin: string) => object, answer: Answer) {
  const h = await createHarness();
  h.pages['*'] = answer;
  const secret = SECRET_BOX.seal('hush', 'source/src_1/client_secret').toString('base64');
  await h.add({
    kind,
    settings: settings(given(h.origin)),
    secrets: kind === 'reddit' ? { client_secret: secret } : {},
  });
  await h.poller.start();
  await h.ended(1);
  return { h, source: await h.source('src_1') };
}

async function expectNothingKept(h: Harness): Promise<void> {
  expect(await h.texts()).toEqual([]);
  for (const { headers } of h.site.requests) {
    expect(headers['user-agent']).toContain('+https://signals.example.com');
  }
}

test.each(KINDS)('%s: honours and shows the Retry-After of a 429', async (kind, given) => {
  const { h, source } = await readFrom(kind, given, status(429, { 'retry-after': '7200' }));
  expect(source.lastError).toMatchObject({ code: 'rate_limited' });
  expect(source.nextPollAt).toBeGreaterThanOrEqual(T0 + 7_200_000);
  expect(h.asked()).toHaveLength(1);
  await expectNothingKept(h);
});

test.each(KINDS)(
  '%s: shows a 403 with its status, and retries it less and less often',
  async (kind, given) => {
    const { h, source } = await readFrom(kind, given, status(403));
    expect(source.lastError?.code).toMatch(/^(http_status|unauthorized)$/);
    expect(source.lastError?.message).toContain('403');
    expect(source).toMatchObject({ failures: 1, signalsMade: 0 });
    await h.pass(source.nextPollAt ?? 0);
    const again = await h.source('src_1');
    expect((again.nextPollAt ?? 0) - h.clock.now()).toBeGreaterThan((source.nextPollAt ?? 0) - T0);
    await expectNothingKept(h);
  },
);

test.each(KINDS)(
  '%s: reports a truncated response as an error, and stores nothing of it',
  async (kind, given) => {
    const { h, source } = await readFrom(kind, given, (response, _request, socket) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"items": [{"title": "We are looking');
      setImmediate(() => socket.destroy());
    });
    expect(source.lastError?.code).toMatch(/^(connection_reset|network|invalid_response)$/);
    expect(source).toMatchObject({ failures: 1, itemsSeen: 0, lastSuccessAt: null });
    await expectNothingKept(h);
  },
);

test.each(KINDS)(
  '%s: reports a response in another format as an error, and stores nothing of it',
  async (kind, given) => {
    const page = status(
      200,
      { 'content-type': 'text/html' },
      '<html><title>Under maintenance</title></html>',
    );
    const { h, source } = await readFrom(kind, given, page);
    expect(source.lastError?.code).toMatch(/^invalid_(answer|feed|response)$/);
    expect(source).toMatchObject({ failures: 1, itemsSeen: 0, lastSuccessAt: null });
    await expectNothingKept(h);
  },
);

/** Times beyond those of dates, in the members of kinds that use numbers. */
const FAR = [1e300, -1e300, 2 ** 52];
const WITH_NUMBERS: [SourceKind, object, (time: number) => object][] = [
  [
    'lever',
    { board: 'acme' },
    (createdAt) => [{ id: '1', text: wanting('CRM'), hostedUrl: 'https://jobs.example.com/1', createdAt }],
  ],
  [
    'stackexchange',
    { site: 'superuser', query: 'crm' },
    (time) => ({
      has_more: false,
      items: [
        {
          question_id: 1,
          title: 'CRM',
          body: wanting('CRM'),
          link: 'https://superuser.com/q/1',
          creation_date: Math.sign(time) * Math.min(Math.abs(time), 2 ** 52),
        },
      ],
    }),
  ],
  [
    'reddit',
    { subreddit: 'sales', client_id: 'app' },
    (created_utc) => ({
      access_token: 'token',
      data: {
        children: [
          {
            kind: 't3',
            data: { name: 't3_1', title: 'CRM', selftext: wanting('CRM'), permalink: '/r/1', created_utc },
          },
        ],
      },
    }),
  ],
];

test.each(
  WITH_NUMBERS.flatMap(([kind, given, body]) => FAR.map((time) => [kind, time, given, body] as const)),
)('%s: the time %s does not fail the run', async (kind, time, given, body) => {
  const { h, source } = await readFrom(kind, () => given, status(200, {}, JSON.stringify(body(time))));
  expect(source).toMatchObject({ lastError: null, itemsSeen: 1 });
  expect(await h.texts()).toHaveLength(1);
});
