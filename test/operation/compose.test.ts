import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config.ts';

// Docker is not asked: what it would make of the files is held against what the server knows.

interface Service {
  build?: string;
  image?: string;
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
  networks?: string[] | Record<string, { ipv4_address: string }>;
  depends_on?: string[] | Record<string, unknown>;
  stop_grace_period?: string;
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks?: Record<string, { ipam: { config: { subnet: string }[] } }>;
}

const FOLDER = 'docs/operation';
const FILES = globSync(`${FOLDER}/compose*.yml`).sort();
/** As the guide makes them. */
const VARIABLES: Record<string, string> = {
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  POSTGRES_PASSWORD: 'a1'.repeat(24),
};

/** As Compose reads it: merged keys, and variables of the environment. */
function readCompose(file: string): Compose {
  const text = readFileSync(file, 'utf8').replace(/(?<!\$)\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name: string) => {
    const value = VARIABLES[name];
    if (value === undefined) throw new Error(`${file} asks for ${name}`);
    return value;
  });
  return parse(text, { merge: true });
}

const isOurs = ({ build }: Service) => build !== undefined;

test('there are one for a single server and one for three nodes', () => {
  expect(FILES).toEqual([`${FOLDER}/compose-three-nodes.yml`, `${FOLDER}/compose.yml`]);
  expect(Object.values(readCompose(FILES[0] ?? '').services).filter(isOurs)).toHaveLength(3);
});

test.each(FILES)('%s sets only variables that there are, to values that are taken', (file) => {
  const known = new Set<string>();
  loadConfig(new Proxy({}, { get: (_target, name) => void known.add(String(name)) }));
  for (const { environment = {} } of Object.values(readCompose(file).services).filter(isOurs)) {
    expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([]);
    expect(loadConfig(environment).baseUrl).toBe(environment.BASE_URL);
  }
});

test.each(FILES)(
  '%s names volumes and services that there are, is open to this machine only, and lets a server drain',
  (file) => {
    const { services, volumes } = readCompose(file);
    const used = Object.values(services)
      .flatMap((service) => service.volumes ?? [])
      .filter((volume) => !volume.startsWith('./'))
      .map((volume) => volume.split(':')[0]);
    expect(used.sort()).toEqual(Object.keys(volumes).sort());
    for (const service of Object.values(services)) {
      const { depends_on = [], ports = [], stop_grace_period = '0s' } = service;
      const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
      expect(needed.filter((name) => !(name in services))).toEqual([]);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      if (isOurs(service)) expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(35);
    }
  },
);

test('the three nodes are alike, share the database of the service, and trust the proxy that knows them all', () => {
  const { services, networks } = readCompose(`${FOLDER}/compose-three-nodes.yml`);
  const ours = Object.entries(services).filter(([, service]) => isOurs(service));
  const [first] = ours;
  for (const [, service] of ours) expect(service.environment).toEqual(first?.[1].environment);
  // Each has a folder of its own.
  expect(new Set(ours.map(([, { volumes }]) => volumes?.[0])).size).toBe(ours.length);

  const url = new URL(loadConfig(first?.[1].environment ?? {}).databaseUrl ?? '');
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services[url.hostname]?.environment ?? {};
  expect([url.username, url.password, url.pathname]).toEqual([
    POSTGRES_USER,
    POSTGRES_PASSWORD,
    `/${POSTGRES_DB}`,
  ]);

  const proxy = services.caddy?.networks as Record<string, { ipv4_address: string }>;
  const address = proxy.inside?.ipv4_address ?? '';
  expect(first?.[1].environment?.TRUST_PROXY).toBe(`${address}/32`);
  expect(networks?.inside?.ipam.config[0]?.subnet.startsWith(address.replace(/\d+$/, ''))).toBe(true);
  const caddyfile = readFileSync(`${FOLDER}/Caddyfile.three-nodes`, 'utf8');
  const [, upstreams = ''] = /reverse_proxy (.*) \{/.exec(caddyfile) ?? [];
  expect(upstreams.split(' ')).toEqual(ours.map(([name]) => `${name}:3000`));
});

test('the guide makes every variable that the file asks for', () => {
  const guide = readFileSync(`${FOLDER}/several-nodes.md`, 'utf8');
  for (const name of Object.keys(VARIABLES)) expect(guide).toMatch(new RegExp(`export .*\\b${name}=`));
});
