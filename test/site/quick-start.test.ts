import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeBlocks } from '../support/code-blocks.ts';
import { type RunningSite, serveStarterSite } from '../support/starter-site.ts';

let site: RunningSite;
beforeAll(async () => {
  site = await serveStarterSite();
});
afterAll(() => site.app.close());

/** The page's shell code, in one shell, as pasted by a reader, with only the key and the URL replaced. */
async function paste(blocks: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  // Each response on separate lines; curl itself fails on a 4xx or 5xx, which stops the shell.
  const script = blocks
    .map((block) => `${block}\necho; echo ---\n`)
    .join('')
    .replaceAll('curl -sS', 'curl -sS --fail-with-body');
  const child = spawn('sh', ['-e', '-c', script], {
    env: { PATH: process.env.PATH, BASE: site.url, API_KEY: site.apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = await once(child, 'close');
  return { code, out, err };
}

test('the five calls of the quick start lead from a key to a contacted lead, even when run twice', async () => {
  const blocks = codeBlocks('developers/quick-start.md').filter(({ language }) => language === 'sh');
  expect(blocks.map(({ code }) => code.match(/curl /g)?.length)).toEqual([1, 1, 1, 1, 1]);

  for (const status of ['created', 'duplicate']) {
    const { code, out, err } = await paste(blocks.map((block) => block.code));
    expect({ code, err }, out).toEqual({ code: 0, err: '' });
    const [me = '', signal = '', signalId = '', leadId = '', move = ''] = out
      .split('---')
      .map((answer) => answer.trim());
    expect(JSON.parse(me).data.tenant.id).toBe(site.tenant.id);
    const made = JSON.parse(signal).data;
    expect(made).toMatchObject({ status, signals: [{ signal_id: signalId, classification: 'hot' }] });
    expect(leadId).toMatch(/^led_[0-9a-z]{25}$/);
    expect(JSON.parse(move).data).toMatchObject({ id: leadId, stage: 'contacted' });
  }

  const leads = await site.app.inject({ url: '/v1/leads', headers: site.auth });
  expect(leads.json().data).toMatchObject([
    { email: 'dana@whitlock-heating.example', source: 'quick-start', stage: 'contacted' },
  ]);
});
