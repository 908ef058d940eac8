import { expect, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';
import { htmlFaults } from '../support/html-judge.ts';
import { signedIn } from './browser-session.ts';
import { fillAccount } from './full-account.ts';

test('html-validate finds no fault on any screen, full or empty', async () => {
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
  for (const path of ['/login', '/setup', '/reset']) {
    const { body } = await made.app.inject({ url: `/dashboard${path}` });
    expect.soft(await htmlFaults(body), path).toEqual([]);
  }
  await made.app.close();
});
