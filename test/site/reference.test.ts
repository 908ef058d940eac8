import { afterAll, beforeAll, expect, test } from 'vitest';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { loadStarterSite } from '../support/starter-site.ts';

interface Line {
  method: string;
  path: string;
  summary: string;
  scope: string | null;
}

const PAGES = ['/developers/reference', '/developers/reference/leads', '/developers/reference/webhooks'];

let t: TestApp;
let operations: Line[];
beforeAll(async () => {
  t = await buildTestApp({ content: await loadStarterSite() });
  operations = (await t.app.inject('/v1/operations')).json().data;
});
afterAll(() => t.app.close());

const text = async (url: string) => (await t.app.inject(url)).body;
const allOf = async (suffix: string) =>
  (await Promise.all(PAGES.map((page) => text(`${page}${suffix}`)))).join('\n');

test('the reference has every operation once, with its scope and a command', async () => {
  const markdown = await allOf('.md');
  expect(operations.length).toBeGreaterThan(60);
  for (const { method, path, summary, scope } of operations) {
    const needs = { null: 'no key needed', any: 'any valid key' }[String(scope)] ?? `scope \`${scope}\``;
    expect(markdown).toContain(`### ${summary}\n\n\`${method} ${path}\` · ${needs}`);
  }
  expect(markdown.match(/^### /gm)).toHaveLength(operations.length);
  expect(markdown.match(/^curl /gm)).toHaveLength(operations.length);
});

test('the reference states the scope of an operation once', async () => {
  expect(await allOf('.md')).not.toMatch(/Requires the scope|Any valid key can be used/);
});

test('the pages and their markdown agree, and each page lists its operations', async () => {
  const html = await allOf('');
  for (const { method, path } of operations) expect(html).toContain(`<code>${method} ${path}</code>`);
  expect(html.match(/<li class="level-3">/g)).toHaveLength(operations.length);
  expect(html).toContain('<code>company.domain</code>');
  expect(html).not.toContain('{{');
});

test('a body is documented with its members, their types, and which are required', async () => {
  const markdown = await allOf('.md');
  const [, create = ''] = markdown.split('`POST /v1/signals` ·');
  const [section = ''] = create.split('\n### ');
  expect(section).toMatch(/\| `text` \(required\) \| string/);
  expect(section).toMatch(/\| `platform\.name` \(required\) \| string/);
  expect(section).toContain('| `signal_type` | `"intent_post"`, ');
  expect(markdown).toMatch(/Errors of its own: .*`STAGE_CONFLICT`/);
  expect(section).toContain(
    `curl -sS -X POST "${BASE_URL}/v1/signals" \\\n  -H "Authorization: Bearer $API_KEY"`,
  );
});

test('llms.txt links to the signal API, with the length of each response, and calls nothing read-only', async () => {
  const llms = await text('/llms.txt');
  expect(llms).not.toMatch(/read.only/i);
  for (const path of ['/v1', '/v1/operations', '/v1/openapi.json']) {
    const [, tokens] = new RegExp(`${BASE_URL}${path}[)\`]: .* \\((\\d+)\\)`).exec(llms) ?? [];
    const { length } = await text(path);
    expect(Number(tokens)).toBeGreaterThan(length / 8);
    expect(Number(tokens)).toBeLessThan(length / 2);
  }
  const [, tokens] = /reference\.md\): .* \((\d+)\)/.exec(llms) ?? [];
  expect(Number(tokens)).toBeGreaterThan(3_000);
});

test('status links to the signal API; its endpoints are still those of the public API', async () => {
  const { data } = (await t.app.inject('/api/v1/status')).json();
  expect(data.endpoints.map(({ path }: { path: string }) => path)).toEqual(['/api/health', '/api/v1/status']);
  expect(data.signalApi).toEqual({
    url: `${BASE_URL}/v1`,
    openapi: `${BASE_URL}/v1/openapi.json`,
    operations: `${BASE_URL}/v1/operations`,
    docs: `${BASE_URL}/developers/signal-api`,
  });
  for (const url of Object.values<string>(data.signalApi)) {
    expect([url, (await t.app.inject(url.slice(BASE_URL.length))).statusCode]).toEqual([url, 200]);
  }
});
