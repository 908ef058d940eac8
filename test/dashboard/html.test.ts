import { expect, test } from 'vitest';
import { buildTestApp, foundingLink } from '../support/app.ts';
import { htmlFaults } from '../support/html-judge.ts';
import { csrfOf, signedIn, TestBrowser } from './browser-session.ts';
import { fillAccount } from './full-account.ts';

test('html-validate reports nothing on any screen, with or without data', async () => {
  const made = await buildTestApp();
  const browser = await signedIn(made, made.tenant.id);
  const look = async (path: string) => {
    const { body } = await browser.get(path);
    expect.soft(await htmlFaults(body), path).toEqual([]);
  };
  const lists = [
    '',
    '/signals',
    '/leads',
    '/pipeline',
    '/companies',
    '/campaigns',
    '/sources',
    '/webhook-logs',
  ];
  for (const path of [...lists, '/dead-letters', '/settings/integrations/webhooks'])
    await look(`/dashboard${path}`);
  const { screens } = await fillAccount(made, 'https://hooks.example.com/a');
  for (const path of screens) await look(path);
  const drafted = await browser.post('/dashboard/start', { offer: 'A CRM for plumbers' });
  expect.soft(await htmlFaults(drafted.body), 'a draft').toEqual([]);
  const made1 = await browser.post('/dashboard/settings/api-keys', {
    name: 'CRM',
    preset: 'read',
    rate_limit: '60',
  });
  expect.soft(await htmlFaults(made1.body), 'a new key').toEqual([]);
  const account = '/dashboard/settings/account';
  const posts: [path: string, fields: Record<string, string>, page: string][] = [
    ['/dashboard/settings/team', { email: 'sam@example.com', role: 'member' }, '/dashboard/settings/team'],
    ['/dashboard/settings/team', { email: 'nobody' }, '/dashboard/settings/team'],
    [`${account}/password`, { old_password: 'wrong', password: 'wrong' }, account],
    [`${account}/second-factor`, {}, account],
    [`${account}/second-factor/confirm`, { code: '1' }, account],
    [`${account}/second-factor/off`, { password: 'wrong' }, account],
  ];
  for (const [path, fields, page] of posts) {
    expect.soft(await htmlFaults((await browser.post(path, fields, page)).body), path).toEqual([]);
  }
  const code = await browser.send('/dashboard/login/code', {
    _csrf: csrfOf((await browser.get(account)).body),
  });
  expect.soft(await htmlFaults(code.body), 'the code of a log-in').toEqual([]);
  for (const path of ['/login', '/setup', '/reset']) {
    const { body } = await made.app.inject({ url: `/dashboard${path}` });
    expect.soft(await htmlFaults(body), path).toEqual([]);
  }
  await made.app.close();
});

test('a first visit transfers less than 60 kB on every screen, including styles, scripts and icon', async () => {
  const made = await buildTestApp();
  const browser = await signedIn(made, made.tenant.id);
  const { screens } = await fillAccount(made, 'https://hooks.example.com/a');
  const bytesOf = async (path: string) =>
    (await browser.get(path, { 'accept-encoding': 'br' })).rawPayload.length;
  const weights = new Map<string, number>();
  for (const screen of screens) {
    const { body } = await browser.get(screen);
    const assets = [...body.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(
      ([, path = '']) => path,
    );
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) if (!weights.has(path)) weights.set(path, await bytesOf(path));
    const loaded = [...new Set(assets)].reduce((sum, path) => sum + (weights.get(path) ?? 0), 0);
    expect.soft(loaded + (await bytesOf(screen)), screen).toBeLessThan(60_000);
  }
  await made.app.close();
});

test('html-validate reports nothing in the first-account form, both initially and with errors', async () => {
  const { app } = await buildTestApp({ isEmpty: true });
  const browser = new TestBrowser(app);
  const form = await browser.get('/dashboard/setup');
  const refused = await browser.post('/dashboard/setup', { token: foundingLink() });
  for (const { body } of [form, refused]) {
    expect(body).toContain('Company name');
    expect.soft(await htmlFaults(body)).toEqual([]);
  }
  await app.close();
});
