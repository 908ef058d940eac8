import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../cli/process.ts';
import { rss, wanting } from '../detection/harness.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { freePort, runCommand, serverEnv, startServerProcess } from '../support/server-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const PATIENCE = { timeout: 40_000, interval: 250 };

test('a feed item becomes a signal, a webhook, a message for Slack and a line of the next digest', async () => {
  const folder = temporaryFolder();
  const smtp = await startSmtpServer();
  const receiver = await startReceiver();
  const site = await startReceiver((response, request, socket) => {
    const isFeed = request.path === '/feed.xml';
    (isFeed ? status(200, {}, rss([['1', wanting('CRM')]])) : status(404))(response, request, socket);
  });
  const port = await freePort();
  const mail = { SMTP_URL: smtp.url, MAIL_FROM: 'post@signals.example.com' };
  const server = await startServerProcess(folder.path, port, mail);
  onTestFinished(async () => {
    await server.terminate();
    await receiver.close();
    await site.close();
    await smtp[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const create = ['tenant', 'create', '--name', 'Acme', '--email', 'owner@example.com', '--json'];
  const apiKey = JSON.parse(await runCommand(create, serverEnv(folder.path, port))).api_key;
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(server.url + path, init);
    // biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read by later steps
    const content = (await answer.json()) as { data: any };
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(content)}`);
    return content.data;
  };
  const sent = (path: string) =>
    receiver.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body));

  const at = (path: string) => `http://127.0.0.1:${receiver.port}${path}`;
  await call('POST', '/v1/webhooks', { url: at('/plain'), event_types: ['signal.detected', 'digest.ready'] });
  await call('POST', '/v1/webhooks', { url: at('/slack'), payload_format: { preset: 'slack' } });
  await call('POST', '/v1/sources', {
    ...{ kind: 'rss', name: 'Forum', url: `http://127.0.0.1:${site.port}/feed.xml` },
  });

  await expect.poll(() => [sent('/plain').length, sent('/slack').length], PATIENCE).toEqual([1, 1]);
  const [signal] = await call('GET', '/v1/signals');
  expect(signal.excerpt).toContain('looking for a new CRM');
  expect(sent('/plain')[0]).toMatchObject({ signal_id: signal.signal_id, signature: expect.any(String) });
  expect(sent('/slack')[0]).toMatchObject({
    text: expect.stringContaining('signal'),
    blocks: expect.arrayContaining([
      expect.objectContaining({ type: 'header' }),
      { type: 'section', text: { type: 'mrkdwn', text: expect.stringContaining('looking for a new CRM') } },
    ]),
  });

  // Only changing the hour to the current one makes a digest due at once: between 08:00 and 09:00, the default is
  // already that hour, and the first digest of a new account is planned for tomorrow.
  const hourNow = () => new Date().getUTCHours();
  await call('PATCH', '/v1/settings', { digest: { hour: (hourNow() + 12) % 24 } });
  // The current hour; read again if it has just changed.
  const digest = async () => {
    await call('PATCH', '/v1/settings', { digest: { hour: hourNow() } });
    return sent('/plain').length;
  };
  await expect.poll(digest, PATIENCE).toBe(2);
  const [, told] = sent('/plain');
  expect(told).toMatchObject({ event: 'digest.ready', data: { signals: [{ signal_id: signal.signal_id }] } });
  await expect.poll(() => smtp.received.length, PATIENCE).toBe(1);
  expect(smtp.received[0]).toMatchObject({ to: ['owner@example.com'] });
  expect(smtp.received[0]?.source).toContain('Looking for a new CRM');
}, 120_000);
