import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isWellFormedApiKey } from '../../src/accounts/keys.ts';
import { SCOPES } from '../../src/model/key.ts';
import { run, start, temporaryFolder } from './process.ts';

const CREATE = ['tenant', 'create', '--name', 'Acme Drains', '--email', 'owner@acme.example', '--json'];

async function json(args: string[], env: NodeJS.ProcessEnv) {
  const { code, stdout, stderr } = await run(args, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

test('creates a tenant and prints exactly the documented members', async () => {
  using folder = temporaryFolder();
  const made = await json(CREATE, { DATA_DIR: folder.path, BASE_URL: 'https://signals.example' });
  expect(Object.keys(made)).toEqual(['tenant_id', 'name', 'plan', 'api_key', 'setup_url']);
  expect(made).toMatchObject({ name: 'Acme Drains', plan: 'trial' });
  expect(made.tenant_id).toMatch(/^ten_/);
  expect(isWellFormedApiKey(made.api_key)).toBe(true);
  expect(made.setup_url).toMatch(/^https:\/\/signals\.example\/dashboard\/setup#token=[\w-]{43}$/);
});

test.each([
  ['tenant', 'list'],
  ['key', 'list', '--json'],
])('%s %s reports that a folder has no database, and creates nothing there', async (...args) => {
  using folder = temporaryFolder();
  const missing = join(folder.path, 'nowhere');
  for (const path of [folder.path, missing]) {
    const { code, stdout, stderr } = await run(args, { DATA_DIR: path });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `There is no database in ${path}. Set DATA_DIR to the server's data folder, or create the first tenant with: tenant create\n`,
    );
  }
  expect(existsSync(missing)).toBe(false);
  expect(readdirSync(folder.path)).toEqual([]);
});

test('lists tenants with their plans, and changes the plan of one', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  const { tenant_id } = await json([...CREATE, '--plan', 'starter'], env);
  expect((await run(['tenant', 'plan', tenant_id, 'pro'], env)).code).toBe(0);
  expect(await json(['tenant', 'list', '--json'], env)).toMatchObject([
    { tenant_id, name: 'Acme Drains', plan: 'pro', trial_ends_at: null, owner_email: 'owner@acme.example' },
  ]);
  expect((await run(['tenant', 'list'], env)).stdout).toContain(
    `${tenant_id}  pro   owner@acme.example  Acme Drains`,
  );
  expect(await run(['tenant', 'plan', 'ten_none', 'pro'], env)).toMatchObject({ code: 1, stdout: '' });
});

test('creates, lists and revokes keys', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  const { tenant_id } = await json(CREATE, env);
  const create = ['key', 'create', '--tenant', tenant_id, '--name', 'CI', '--json'];
  const made = await json([...create, '--scopes', 'signals:read,webhooks:write', '--rate-limit', '7'], env);
  expect(Object.keys(made)).toEqual(['key_id', 'api_key', 'scopes', 'rate_limit']);
  expect(made).toMatchObject({ scopes: ['signals:read', 'webhooks:write'], rate_limit: 7 });

  expect((await run(['key', 'revoke', made.key_id], env)).code).toBe(0);
  const keys = await json(['key', 'list', '--tenant', tenant_id, '--json'], env);
  const revoked = keys.find((key: { key_id: string }) => key.key_id === made.key_id);
  expect(revoked).toMatchObject({ tenant_id, name: 'CI', last4: made.api_key.slice(-4) });
  expect(revoked.revoked_at).not.toBeNull();
  const { stdout } = await run(['key', 'list'], env);
  expect(stdout).toContain('revoked');
  expect(stdout).not.toContain(made.api_key);
  expect((await run(['key', 'revoke', 'key_none'], env)).code).toBe(1);
});

test('accepts scope presets', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  const { tenant_id } = await json(CREATE, env);
  const scopesOf = async (preset: string) =>
    (
      await json(
        ['key', 'create', '--tenant', tenant_id, '--name', preset, '--scopes', preset, '--json'],
        env,
      )
    ).scopes;
  expect(await scopesOf('admin')).toEqual([...SCOPES]);
  expect(await scopesOf('write')).not.toContain('keys:write');
  expect(await scopesOf('read')).toEqual(SCOPES.filter((scope) => scope.endsWith(':read')));
});

test('refuses a key for an unknown tenant, and one that has already expired', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path };
  const create = ['key', 'create', '--name', 'A', '--scopes', 'read', '--tenant'];
  expect((await run([...create, 'ten_none'], env)).code).toBe(1);
  expect((await run([...create, 'ten_none', '--expires', '2020-01-01T00:00:00Z'], env)).code).toBe(64);
  expect((await run([...create, 'ten_none', '--expires', 'tomorrow'], env)).code).toBe(64);
});

test('a running server accepts a new key and rejects a revoked one immediately', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path, PORT: '0' };
  await using server = start(['serve'], env);
  const [, url] = await server.said(/listens at (http\S+)/);
  const { tenant_id } = await json(CREATE, env);
  const create = ['key', 'create', '--tenant', tenant_id, '--name', 'A', '--scopes', 'read', '--json'];
  const { key_id, api_key } = await json(create, env);
  const ask = async () =>
    (await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${api_key}` } })).status;
  expect(await ask()).toBe(200);
  await run(['key', 'revoke', key_id], env);
  expect(await ask()).toBe(401);
});

test('prints a new set-up link for a tenant, and a password reset link for an address', async () => {
  using folder = temporaryFolder();
  const env = { DATA_DIR: folder.path, BASE_URL: 'https://signals.example' };
  const { tenant_id } = await json(CREATE, env);
  const link = await run(['tenant', 'setup-link', tenant_id], env);
  expect(link.stdout).toMatch(/^https:\/\/signals\.example\/dashboard\/setup#token=[\w-]{43}\n$/);
  const reset = await run(['owner', 'reset', '--email', 'OWNER@acme.example'], env);
  expect(reset.stdout).toMatch(/^https:\/\/signals\.example\/dashboard\/reset#token=[\w-]{43}\n$/);
  expect(await run(['tenant', 'setup-link', 'ten_none'], env)).toMatchObject({ code: 1, stdout: '' });
  expect(await run(['owner', 'reset', '--email', 'x@acme.example'], env)).toMatchObject({
    code: 1,
    stdout: '',
  });
});
