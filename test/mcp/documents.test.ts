import { estimateTokenCount } from 'tokenx';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOOLS } from '../../src/mcp/server.ts';
import { aPost, BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { loadStarterSite } from '../support/starter-site.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ content: await loadStarterSite() });
  for (let n = 0; n < 12; n++) {
    const platform = {
      name: 'reddit',
      post_url: `https://www.reddit.com/r/smallbusiness/comments/1abc${n}/crm/`,
    };
    const text = `We are ${n + 5} people and looking for a new CRM, any recommendations? Budget approved, need to buy this month. ${'Our spreadsheet has grown out of hand and nobody knows who called whom. '.repeat(8)}`;
    const payload = aPost({ platform, text, company: { name: `Acme ${n}`, domain: `acme${n}.com` } });
    await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
  }
});
afterAll(() => t.app.close());

test('with only the base URL and a key, hot signals with reasons take 2 requests and under 4,000 tokens', async () => {
  let tokens = 0;
  const llms = await t.app.inject('/llms.txt');
  tokens += estimateTokenCount(llms.body);
  const [, url = '', headers = '', body = ''] = /`curl (\S+) (.+?) --json '(.+?)'`/.exec(llms.body) ?? [];
  const found = await t.app.inject({
    method: 'POST',
    url: url.slice(BASE_URL.length),
    // Headers that curl --json adds.
    headers: Object.fromEntries([
      ['content-type', 'application/json'],
      ['accept', 'application/json'],
      ...[...headers.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = '', value = '']) => [
        name,
        value.replace('$API_KEY', t.apiKey),
      ]),
    ]),
    payload: body,
  });
  tokens += estimateTokenCount(found.body);
  const { structuredContent } = found.json().result;
  const { signals, next_cursor } = structuredContent;
  expect(signals).toHaveLength(5);
  expect(next_cursor).toEqual(expect.any(String));
  for (const { classification, why, url: post } of signals) {
    expect(classification).toBe('hot');
    expect(why.length).toBeGreaterThan(1);
    expect(post).toMatch(/^https:\/\/www\.reddit\.com/);
  }
  expect(tokens).toBeLessThan(4_000);
  // A client that also reads the page for agents, and shows its model only the results, needs no more.
  const page = await t.app.inject('/developers/agents.md');
  const read = [llms.body, page.body, JSON.stringify(structuredContent)].map((text) =>
    estimateTokenCount(text),
  );
  expect(read.reduce((sum, each) => sum + each)).toBeLessThan(4_000);
});

test('llms.txt has under 1,500 tokens and links to the page for agents, which names every tool', async () => {
  const { body: llms } = await t.app.inject('/llms.txt');
  expect(estimateTokenCount(llms)).toBeLessThan(1_500);
  const [, page = ''] = /\[For agents\]\((\S+)\) first/.exec(llms) ?? [];
  const { body, statusCode } = await t.app.inject(page.slice(BASE_URL.length));
  expect(statusCode).toBe(200);
  for (const { listed, scope } of TOOLS) {
    expect(body).toContain(`\`${listed.name}\``);
    expect(body).toContain(`\`${scope}\``);
  }
  expect(estimateTokenCount(body)).toBeLessThan(2_000);
});

test('the server card contains the MCP URL, at both of its own URLs', async () => {
  const card = await t.app.inject('/.well-known/mcp');
  expect(card.json()).toMatchObject({
    name: 'com.example.signals/signalpost',
    remotes: [
      {
        type: 'streamable-http',
        url: `${BASE_URL}/mcp`,
        supportedProtocolVersions: ['2026-07-28', '2025-11-25'],
      },
    ],
  });
  expect((await t.app.inject('/.well-known/mcp/server-card.json')).body).toBe(card.body);
});
