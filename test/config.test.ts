import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../src/config.ts';
import { ownAddresses } from '../src/lib/network.ts';

function faultsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('an empty environment gives the documented defaults', () => {
  const config = loadConfig({});
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    baseUrl: 'http://localhost:3000',
    publicRateLimit: 60,
    dashboardRateLimit: 300,
    sessionLife: { idleDays: 14, longestDays: 60 },
    logLevel: 'info',
    webhookAllowTargets: [],
    secretsKey: null,
  });
});

test('the base URL follows the port and loses its trailing slash', () => {
  expect(loadConfig({ PORT: '8080' }).baseUrl).toBe('http://localhost:8080');
  expect(loadConfig({ BASE_URL: 'https://volt.example/' }).baseUrl).toBe('https://volt.example');
});

test('all errors are listed at once, each with its variable', () => {
  const faults = faultsOf({
    PORT: '99999',
    LOG_LEVEL: 'loud',
    TRUST_PROXY: '10.0.0.0/8,nonsense',
    SECRETS_KEY: 'short',
  });
  expect(faults).toHaveLength(4);
  for (const name of ['PORT', 'LOG_LEVEL', 'TRUST_PROXY', 'SECRETS_KEY']) {
    expect(faults.filter((fault) => fault.startsWith(`${name}:`))).toHaveLength(1);
  }
});

test('authorization servers are kept exactly as written, and must be URLs that tokens can name', () => {
  const MCP_AUTHORIZATION_SERVERS = 'https://id.example.com/, http://127.0.0.1:8080/realms/a';
  expect(loadConfig({ MCP_AUTHORIZATION_SERVERS }).mcpAuthorizationServers).toEqual([
    'https://id.example.com/',
    'http://127.0.0.1:8080/realms/a',
  ]);
  for (const wrong of [
    'id.example.com',
    'http://id.example.com',
    'https://a@id.example.com',
    'https://id.example.com?x',
  ]) {
    expect(faultsOf({ MCP_AUTHORIZATION_SERVERS: wrong }), wrong).toHaveLength(1);
  }
});

test('numbers must be integers in range', () => {
  for (const port of ['-1', '1.5', '0x50', '65536', 'http']) expect(faultsOf({ PORT: port })).toHaveLength(1);
});

test('address ranges of both families are accepted, and a bare address is a range of one', () => {
  const { webhookAllowTargets } = loadConfig({ WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8, ::1/128,192.0.2.7' });
  expect(webhookAllowTargets.map((cidr) => [cidr.address, cidr.prefix])).toEqual([
    ['127.0.0.0', 8],
    ['::1', 128],
    ['192.0.2.7', 32],
  ]);
});

test('a key of 32 bytes is accepted, and an invalid one is not repeated in the error', () => {
  const key = Buffer.alloc(32, 9).toString('base64');
  expect(loadConfig({ SECRETS_KEY: key }).secretsKey?.newest.length).toBe(32);
  const two = loadConfig({ SECRETS_KEY: `${key}, ${key}` }).secretsKey;
  expect(two?.older.map((older) => older.length)).toEqual([32]);
  expect(faultsOf({ SECRETS_KEY: `${key},x` })).toHaveLength(1);
  expect(faultsOf({ SECRETS_KEY: 'hunter2' }).join()).not.toContain('hunter2');
});

test('DATABASE_URL names a PostgreSQL database, and its password is not part of the error', () => {
  const socket = 'postgresql:///signals?host=/run/postgresql&user=u';
  expect(loadConfig({}).databaseUrl).toBe(null);
  for (const url of ['postgres://u:hunter2@db:5432/x', socket])
    expect(loadConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
  for (const url of [
    'mysql://u:hunter2@db/x',
    'postgres://u:hunter2@db',
    'postgres://u:hunter2@db/',
    'hunter2',
  ]) {
    const faults = faultsOf({ DATABASE_URL: url });
    expect(faults).toEqual([expect.stringContaining('DATABASE_URL: must be an address such as')]);
    expect(faults.join()).not.toContain('hunter2');
  }
});

test('mail requires a sender', () => {
  expect(faultsOf({ SMTP_URL: 'smtp://localhost' })).toEqual([expect.stringContaining('MAIL_FROM')]);
});

test('an unusable host, and a base URL or sender that would break links or mail, are errors', () => {
  for (const host of ['two words', '999.1.1.1', '[::1]', 'host:80', '-a', 'a..b']) {
    expect(faultsOf({ HOST: host }), host).toEqual([expect.stringContaining('HOST:')]);
  }
  for (const host of ['::', '0.0.0.0', 'localhost', 'web-1.internal'])
    expect(loadConfig({ HOST: host }).host).toBe(host);
  for (const url of [
    'http://a.example/?x=1',
    'http://a.example/#',
    'http://a.example?',
    'http://u:hunter2@a.example',
  ]) {
    const faults = faultsOf({ BASE_URL: url });
    expect(faults, url).toEqual([expect.stringContaining('BASE_URL:')]);
    expect(faults.join()).not.toContain('hunter2');
  }
  for (const sender of ['nobody', 'a@', '<a@b.example> x']) {
    expect(faultsOf({ MAIL_FROM: sender }), sender).toEqual([expect.stringContaining('MAIL_FROM:')]);
  }
  for (const sender of ['post@a.example', 'Volt & Sons <post@a.example>'])
    expect(faultsOf({ MAIL_FROM: sender })).toEqual([]);
});

test('the source address of deliveries must belong to this machine, or the server does not start', () => {
  const at = (address: string) => loadConfig({ WEBHOOK_LOCAL_ADDRESS: address }, ownAddresses());
  const found = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  for (const { address } of found) expect(at(address).webhookLocalAddress).toBe(address);
  expect(at('127.0.0.1').webhookLocalAddress).toBe('127.0.0.1');
  // Addresses for documentation (RFC 5737, RFC 3849) belong to no machine.
  for (const address of ['192.0.2.77', '2001:db8::77', '0.0.0.0', 'eth0'])
    expect(() => at(address), address).toThrow(
      'WEBHOOK_LOCAL_ADDRESS: must be an IP address of this machine',
    );
});

test('without CONTENT_DIR, the pages are those of the package, wherever the process was started', () => {
  const { contentDir } = loadConfig({});
  expect(contentDir).toBe(fileURLToPath(new URL('../content', import.meta.url)));
});
