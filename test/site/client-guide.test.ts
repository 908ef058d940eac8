import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../src/lib/random.ts';
import { deliveryHeaders, toBodyBytes } from '../../src/model/delivery.ts';
import type { Lead } from '../../src/model/lead.ts';
import { createSigner, generateSecret } from '../../src/webhooks/signature.ts';
import { EVENT_SAMPLES } from '../../src/webhooks/test-delivery.ts';
import { codeBlocks } from '../support/code-blocks.ts';
import { freePort } from '../support/server-process.ts';
import { serveStarterSite } from '../support/starter-site.ts';

const CLIENT = resolve(import.meta.dirname, '../../src/client/client.ts');
const blocks = codeBlocks('developers/client.md');
const secret = generateSecret(systemRandom);

/** A folder from which packages of this repository can be imported. */
function aFolder(): string {
  const parent = resolve(import.meta.dirname, '../../node_modules/.cache/signalpost-samples');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'run-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function write(folder: string, name: string): void {
  const pages = ['developers/webhooks.md', 'developers/crm.md'].flatMap(codeBlocks);
  const block = [...blocks, ...pages].find((each) => each.name === name);
  if (block === undefined) throw new Error(`no guide has ${name}`);
  writeFileSync(join(folder, name), block.code.replace("'signalpost/client'", JSON.stringify(CLIENT)));
}

function start(command: string, args: string[], folder: string, env: Record<string, string>) {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return {
    out: () => out,
    err: () => err,
    ended: new Promise<void>((done) => child.once('close', () => done())),
  };
}

/** Sends a body to a receiver, signed like a delivery; returns the response. */
async function deliver(
  port: number,
  id: string,
  { body, signed = body }: { body: string; signed?: string },
): Promise<number> {
  const startedAt = Date.now();
  const sealed = createSigner(secret).seal({ id, ...toBodyBytes(signed) }, Math.floor(startedAt / 1_000));
  const key = { deliveryId: id, attempt: 1, startedAt };
  const answer = await fetch(`http://127.0.0.1:${port}/hook`, {
    method: 'POST',
    headers: deliveryHeaders(key, { ...sealed, eventType: 'signal.detected' }),
    body: signed === body ? new Uint8Array(sealed.body) : body,
  });
  return answer.status;
}

async function untilItListens(port: number): Promise<void> {
  const listens = async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => null)) !== null;
  for (let tries = 0; tries < 400 && !(await listens()); tries++) {
    await new Promise((done) => setTimeout(done, 50));
  }
}

test('the calls in the guide run against a server', async () => {
  const site = await serveStarterSite();
  onTestFinished(() => site.app.close());
  const folder = aFolder();
  write(folder, 'client.mjs');
  const run = start(process.execPath, ['client.mjs'], folder, { BASE: site.url, API_KEY: site.apiKey });
  await run.ended;
  const [created, ...others] = run.out().trim().split('\n');
  expect(created, run.err()).toMatch(/^created \d+$/);
  expect(others.at(-1)).toBe('NOT_FOUND');
  expect(others.length).toBeGreaterThan(1);
}, 60_000);

const hasFlask = spawnSync('python3', ['-c', 'import flask']).status === 0;
const RECEIVERS = ['fastify.mjs', 'express.mjs', 'hono.mjs', ...(hasFlask ? ['app.py'] : [])];

test.each(RECEIVERS)(
  'the receiver %s accepts genuine deliveries, each once, and nothing else',
  async (file) => {
    const folder = aFolder();
    const isPython = file.endsWith('.py');
    write(folder, file);
    if (isPython) write(folder, 'verify.py');
    const port = await freePort();
    const command = isPython ? 'python3' : process.execPath;
    const run = start(command, [file], folder, { PORT: String(port), WEBHOOK_SECRET: secret });
    const post = (id: string, body: string, signed = body) => deliver(port, id, { body, signed });
    await untilItListens(port);
    expect(await post('dlv_1', '{"signal_id":"sig_1","excerpt":"Grüße 😀"}'), run.err()).toBe(204);
    expect(await post('dlv_1', '{"signal_id":"sig_1","excerpt":"Grüße 😀"}')).toBe(204);
    expect(await post('dlv_2', '{"forged":true}', '{"forged":false}')).toBe(401);
    expect(await post('dlv_3', '{"signal_id":"sig_3"}')).toBe(204);
    for (let tries = 0; tries < 200 && !run.out().includes('dlv_3'); tries++) {
      await new Promise((done) => setTimeout(done, 25));
    }
    const handled = run
      .out()
      .split('\n')
      .filter((line) => line.startsWith('signal.detected'));
    expect(handled).toEqual(['signal.detected dlv_1', 'signal.detected dlv_3']);
  },
  60_000,
);

test('the guide has a receiver for every framework it names', () => {
  expect(blocks.map(({ name }) => name).filter((name) => name !== '')).toEqual([
    ...['client.mjs', 'express.mjs', 'fastify.mjs', 'hono.mjs', 'app.py', 'hooks_controller.rb', 'hook.php'],
  ]);
});

/** Simulates a CRM: records every request, and responds with the result of `answer`. */
async function aCrm(answer: (path: string) => { status: number; body: object }) {
  const calls: { method: string; path: string; token: string; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = String(request.url);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === '' ? null : JSON.parse(text);
    calls.push({
      method: String(request.method),
      path,
      token: String(request.headers.authorization),
      body,
    });
    const { status, body: answered } = answer(path);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  onTestFinished(() => void server.close());
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const LEAD = {
  ...(EVENT_SAMPLES['lead.created'] as { current: Lead }).current,
  ...{ name: 'Dana Example', title: 'COO' },
};
const envelope = (event: string, data: object) =>
  JSON.stringify({ event, tenant_id: 'ten_1', data, id: 'evt_1', timestamp: '2026-01-01T09:00:00.000Z' });
const created = (current: object) => envelope('lead.created', { lead_id: 'led_1', previous: null, current });
const moved = (lead: Lead) =>
  envelope('pipeline.stage_changed', { ...EVENT_SAMPLES['pipeline.stage_changed'], lead });

async function crmReceiver(crm: 'hubspot' | 'attio', env: Record<string, string>) {
  const folder = aFolder();
  for (const name of ['receiver.mjs', `${crm}.mjs`, `${crm}-setup.sh`]) write(folder, name);
  const port = await freePort();
  const setUp = start('sh', ['-e', `${crm}-setup.sh`], folder, env);
  await setUp.ended;
  const run = start(process.execPath, ['receiver.mjs'], folder, {
    ...{ CRM: crm, PORT: String(port), WEBHOOK_SECRET: secret },
    ...env,
  });
  await untilItListens(port);
  return { port, run, setUp };
}

test('the HubSpot recipe writes contact, company and their association, and reports failures', async () => {
  let status = 200;
  const crm = await aCrm((path) => ({
    status,
    body: path.endsWith('/upsert') ? { results: [{ id: path.includes('companies') ? '20' : '10' }] } : {},
  }));
  const { port, run, setUp } = await crmReceiver('hubspot', { HUBSPOT_TOKEN: 'pat-1', HUBSPOT_URL: crm.url });
  expect(
    crm.calls.map(({ path }) => path),
    setUp.err(),
  ).toEqual(['/crm/v3/properties/contacts/batch/create', '/crm/v3/properties/companies/batch/create']);
  crm.calls.length = 0;
  expect(await deliver(port, 'dlv_1', { body: created(LEAD) }), run.err()).toBe(204);
  const { name, domain } = LEAD.company;
  expect(crm.calls).toMatchObject([
    {
      path: '/crm/v3/objects/contacts/batch/upsert',
      token: 'Bearer pat-1',
      body: {
        inputs: [
          {
            id: LEAD.email,
            idProperty: 'email',
            properties: {
              ...{
                email: LEAD.email,
                firstname: 'Dana',
                lastname: 'Example',
                jobtitle: 'COO',
                company: name,
              },
              ...{ signalpost_stage: 'contacted', signalpost_score: '86' },
            },
          },
        ],
      },
    },
    {
      path: '/crm/v3/objects/companies/batch/upsert',
      body: {
        inputs: [
          {
            id: domain,
            idProperty: 'signalpost_domain',
            properties: { name, domain, signalpost_domain: domain },
          },
        ],
      },
    },
    { method: 'PUT', path: '/crm/v4/objects/contacts/10/associations/default/companies/20' },
  ]);
  expect(JSON.stringify(crm.calls)).not.toContain('hs_linkedin_url'); // it is unknown
  crm.calls.length = 0;
  const nowhere = { ...LEAD, email: '' };
  expect(await deliver(port, 'dlv_2', { body: created(nowhere) })).toBe(204);
  expect(await deliver(port, 'dlv_3', { body: '{"signal_id":"sig_1"}' })).toBe(204);
  expect(crm.calls).toEqual([]);
  status = 503;
  expect(await deliver(port, 'dlv_4', { body: moved(LEAD) })).toBe(502);
  expect(await deliver(port, 'dlv_5', { body: created(LEAD), signed: '{}' })).toBe(401);
}, 60_000);

test('the Attio recipe asserts the company and the person', async () => {
  const crm = await aCrm(() => ({ status: 200, body: { data: {} } }));
  const { port, run, setUp } = await crmReceiver('attio', { ATTIO_TOKEN: 'att-1', ATTIO_URL: crm.url });
  expect(
    crm.calls.map(({ path, body }) => [path, body]),
    setUp.err(),
  ).toMatchObject(
    [
      ['signalpost_stage', 'text'],
      ['signalpost_score', 'number'],
      ['signalpost_url', 'text'],
    ].map(([api_slug, type]) => ['/v2/objects/people/attributes', { data: { api_slug, type } }]),
  );
  crm.calls.length = 0;
  expect(await deliver(port, 'dlv_1', { body: moved(LEAD) }), run.err()).toBe(204);
  const { name, domain } = LEAD.company;
  expect(crm.calls).toMatchObject([
    {
      method: 'PUT',
      path: '/v2/objects/companies/records?matching_attribute=domains',
      token: 'Bearer att-1',
      body: { data: { values: { domains: [domain], name } } },
    },
    {
      path: '/v2/objects/people/records?matching_attribute=email_addresses',
      body: {
        data: {
          values: {
            email_addresses: [LEAD.email],
            name: [{ first_name: 'Dana', last_name: 'Example', full_name: 'Dana Example' }],
            company: [{ target_object: 'companies', domains: [{ domain }] }],
            ...{ job_title: 'COO', signalpost_stage: 'contacted', signalpost_score: 86 },
          },
        },
      },
    },
  ]);
}, 60_000);
