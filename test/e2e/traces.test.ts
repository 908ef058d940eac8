import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test("a server with a collector passes its caller's trace on to the receiver, and sends both spans to the collector", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-traces-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const exported: Buffer[] = [];
  const collector = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => exported.push(chunk)).on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  const receiver = await startReceiver();
  onTestFinished(() => Promise.all([receiver.close(), collector.close()]).then(() => undefined));

  const port = await freePort();
  const named = ['--name', 'T', '--email', 't@example.com', '--json'];
  const made = await runCommand(['tenant', 'create', ...named], serverEnv(folder, port));
  const headers = {
    authorization: `Bearer ${JSON.parse(made).api_key}`,
    'content-type': 'application/json',
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  };
  const server = await startServerProcess(folder, port, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  });
  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect((await post('/v1/webhooks', { url: receiver.url })).status).toBe(201);
  const platform = { name: 'forum', post_url: 'https://forum.example/1' };
  expect((await post('/v1/signals', { platform, text: 'Who knows a plumber?' })).status).toBe(201);
  await receiver.received(1);
  expect(receiver.requests[0]?.headers.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  expect(await server.terminate()).toBe(0);

  const text = Buffer.concat(exported).toString('latin1');
  for (const name of ['POST /v1/signals', 'POST webhook', 'signalpost']) expect(text).toContain(name);
}, 60_000);
