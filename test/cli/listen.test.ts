import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { freePort } from '../support/server-process.ts';
import { runInProcess } from './in-process.ts';
import { start } from './process.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const UNSIGNED = '{"signal_id":"sig_1","excerpt":"Grüße — 東京"}';

const hex = (data: string) => createHmac('sha256', SECRET).update(data).digest('hex');

/** A delivery signed by hand as documented, with parts replaced by `change`. */
function signed(change: { age?: number; id?: string } = {}) {
  const body = `${UNSIGNED.slice(0, -1)},"signature":"${hex(UNSIGNED)}"}`;
  const timestamp = String(Math.floor(Date.now() / 1000) - (change.age ?? 0));
  const standard = createHmac('sha256', Buffer.alloc(32, 7))
    .update(`dlv_1.${timestamp}.${body}`)
    .digest('base64');
  const headers = {
    'content-type': 'application/json',
    'x-service-signature': hex(body),
    'x-service-attempt': '2',
    'webhook-id': change.id ?? 'dlv_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,AAAA v1,${standard}`,
  };
  return { body, headers };
}

async function listen(args: string[]) {
  const process = start(['listen', '--port', '0', ...args]);
  const [, url = ''] = await process.said(/Listening at (http:\/\/127\.0\.0\.1:\d+)/);
  const post = (delivery: { body: string; headers: Record<string, string> }) =>
    fetch(url, { method: 'POST', ...delivery });
  return { process, post, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

test('verifies a genuine delivery by all three signatures and prints one line', async () => {
  await using receiver = await listen(['--secret', SECRET]);
  expect((await receiver.post(signed())).status).toBe(200);
  const [line] = await receiver.process.said(/^.*sig_1.*$/m);
  expect(line).toContain('  verified  signal.detected sig_1  attempt 2  dlv_1');
  expect(line).toContain('(X-Service-Signature, body signature, webhook-signature)');
});

test('prominently reports what does not match if the bytes were changed', async () => {
  await using receiver = await listen(['--secret', SECRET]);
  const { body, headers } = signed();
  await receiver.post({ headers, body: body.replace('sig_1', 'sig_2') });
  await receiver.process.said(/SIGNATURE MISMATCH !!! {2}signal\.detected sig_2/);
  await receiver.process.said(/X-Service-Signature: it is not the HMAC/);
  await receiver.process.said(/body signature: it is not the HMAC/);
  await receiver.process.said(/webhook-signature: none of its signatures fits/);
  await receiver.process.said(/Check that the secret is this endpoint's current one/);
});

test('reports which signatures still match if only one does not', async () => {
  await using receiver = await listen(['--secret', SECRET]);
  await receiver.post(signed({ id: 'dlv_2' }));
  await receiver.process.said(/webhook-signature: none of its signatures fits/);
  await receiver.process.said(/X-Service-Signature: ok/);
  await receiver.process.said(/body signature: ok/);
});

test('refuses a timestamp more than 5 minutes old', async () => {
  await using receiver = await listen(['--secret', SECRET]);
  await receiver.post(signed({ age: 400 }));
  await receiver.process.said(/its timestamp is 40\d s from this machine's clock/);
});

test('reports that nothing was verified if it has no secret', async () => {
  await using receiver = await listen([]);
  await receiver.process.said(/No --secret given/);
  await receiver.post(signed());
  await receiver.process.said(/ {2}not verified {2}signal\.detected sig_1/);
});

test('responds with the given status, and prints only JSON lines on stdout', async () => {
  const process = start(['listen', '--port', '0', '--status', '503', '--json', '--secret', SECRET]);
  await using _ending = process;
  const url = await process.heard(/Listening at (http:\/\/127\.0\.0\.1:\d+)/);
  const answer = await fetch(url[1] ?? '', { method: 'POST', ...signed() });
  expect(answer.status).toBe(503);
  const [line] = await process.said(/^\{.*\}$/m);
  expect(JSON.parse(line)).toMatchObject({
    webhook_id: 'dlv_1',
    event: 'signal.detected',
    subject_id: 'sig_1',
    attempt: 2,
    verified: true,
    checks: { 'X-Service-Signature': 'ok', 'body signature': 'ok', 'webhook-signature': 'ok' },
  });
  process.kill('SIGTERM');
  expect((await process.ended).code).toBe(0);
});

test.each([
  'hunter2',
  'whsec_',
  SECRET.slice('whsec_'.length),
  SECRET.slice(0, -3),
  `${SECRET.slice(0, 20)}…`,
  `whsec_${Buffer.alloc(23).toString('base64')}`,
])('refuses %j as a secret and explains the format', async (secret) => {
  const { code, stdout, stderr } = await runInProcess(['listen', '--secret', secret]);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr).toContain('whsec_ and base64');
});

test("listens on LISTEN_PORT unless another port is given, and never on the server's PORT", async () => {
  const port = await freePort();
  await using receiver = start(['listen'], { PORT: '1', LISTEN_PORT: String(port) });
  await receiver.said(new RegExp(`Listening at http://127\\.0\\.0\\.1:${port},`));
  const { code, stderr } = await runInProcess(['listen'], { env: { LISTEN_PORT: 'many' } });
  expect({ code, stderr }).toEqual({
    code: 78,
    stderr: 'LISTEN_PORT: must be a whole number from 0 to 65535, not "many".\n',
  });
});

test('reads its secret from a variable, so that it is not visible in the process list', async () => {
  await using receiver = start(['listen', '--port', '0'], { SIGNALPOST_WEBHOOK_SECRET: SECRET });
  const [, url = ''] = await receiver.said(/Listening at (http:\/\/127\.0\.0\.1:\d+)/);
  await fetch(url, { method: 'POST', ...signed() });
  await receiver.said(/verified {2}signal\.detected sig_1/);
  const { code, stderr } = await runInProcess(['listen'], { env: { SIGNALPOST_WEBHOOK_SECRET: 'whsec_no' } });
  expect(code).toBe(78);
  expect(stderr).toContain('SIGNALPOST_WEBHOOK_SECRET: Must be the whole secret');
});

test('reads its secret from stdin', async () => {
  const args = ['src/main.ts', 'listen', '--port', '0', '--secret', '-'];
  const receiver = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    receiver.stdin.end(`${SECRET}\n`);
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
    const next = async () => String((await lines.next()).value);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await next()) ?? [];
    await next(); // how the server delivers here
    await fetch(url, { method: 'POST', ...signed() });
    expect(await next()).toContain('  verified  signal.detected sig_1');
  } finally {
    receiver.kill();
  }
}, 30_000);
