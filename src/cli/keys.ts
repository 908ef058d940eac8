import { type Command, InvalidArgumentError } from 'commander';
import { keyRefusal, newKey, parseScopes, storeKey } from '../accounts/keys.ts';
import { toIso } from '../lib/clock.ts';
import { type ApiKey, DEFAULT_KEY_RATE_LIMIT, SCOPES, type Scope } from '../model/key.ts';
import { instant, integer, nameText } from './arguments.ts';
import { byCommand, CommandError, EXIT, type Opened, type Ports, table, withStorage } from './ports.ts';

interface KeyOptions {
  tenant: string;
  name: string;
  scopes: Scope[];
  rateLimit: number;
  expires?: number;
  json?: true;
}

/** `key create`: creates an API key of a tenant, which is shown only once. */
export function addKeyCreate(parent: Command, ports: Ports): void {
  parent
    .command('create')
    .description('create an API key')
    .requiredOption('--tenant <id>', 'tenant it belongs to')
    .requiredOption('--name <name>', 'name of the key', nameText)
    .requiredOption(
      '--scopes <list>',
      'comma-separated scopes, or read, write (all but keys) or admin',
      scopes,
    )
    .option('--rate-limit <n>', 'requests per 60 s', integer(1, 1_000_000), DEFAULT_KEY_RATE_LIMIT)
    .option('--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z', instant)
    .option('--json', 'print one JSON object on stdout')
    .action((options: KeyOptions) => createKey(ports, options));
}

async function createKey(ports: Ports, options: KeyOptions): Promise<void> {
  if (options.expires !== undefined && options.expires <= ports.clock.now()) {
    throw new CommandError('--expires lies in the past.', EXIT.usage);
  }
  const { key, apiKey } = await withStorage(ports, (opened) => makeKey(opened, options));
  if (options.json) {
    const wire = { key_id: key.id, api_key: apiKey, scopes: key.scopes, rate_limit: key.rateLimit };
    ports.out(JSON.stringify(wire));
    return;
  }
  ports.out(`Key      ${key.id}  ${key.name}`);
  ports.out(`API key  ${apiKey}`);
  ports.out(`Scopes   ${key.scopes.join(' ')}`);
  ports.out(`Limit    ${key.rateLimit} requests per 60 s`);
  ports.out('');
  ports.out('Copy the key now. It is not shown again.');
}

async function makeKey(opened: Opened, options: KeyOptions) {
  const tenant = await opened.store.getTenant(options.tenant);
  if (tenant === null) {
    throw new CommandError(`There is no tenant "${options.tenant}". List them with: tenant list`);
  }
  const { name, rateLimit, expires } = options;
  const made = newKey(opened, {
    tenantId: tenant.id,
    name,
    scopes: options.scopes,
    rateLimit,
    expiresAt: expires ?? null,
  });
  await byCommand(opened, tenant.id, () => storeKey(opened, tenant, made.key));
  return made;
}

function scopes(text: string): Scope[] {
  const parsed = parseScopes(text);
  if ('scopes' in parsed) return parsed.scopes;
  throw new InvalidArgumentError(
    `Unknown: ${parsed.unknown.map((name) => `"${name}"`).join(', ')}. Valid scopes: read, write, admin, ${SCOPES.join(', ')}.`,
  );
}

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** `key list`: lists API keys without their secrets, including revoked ones. */
export function addKeyList(parent: Command, ports: Ports): void {
  parent
    .command('list')
    .description('list API keys')
    .option('--tenant <id>', 'keys of this tenant only')
    .option('--json', 'print a JSON array on stdout')
    .action(async ({ tenant, json }: { tenant?: string; json?: true }) => {
      const keys = await withStorage(ports, ({ store }) => store.listKeys(tenant ?? null));
      if (json) {
        ports.out(JSON.stringify(keys.map(keyWire)));
        return;
      }
      const now = ports.clock.now();
      const rows = keys.map((key) => [
        key.id,
        key.tenantId,
        `…${key.last4}`,
        keyRefusal(key, now) ?? 'valid',
        String(key.rateLimit),
        isoOrNull(key.lastUsedAt) ?? 'never',
        key.name,
      ]);
      const headings = ['KEY', 'TENANT', 'ENDS IN', 'STATE', 'LIMIT', 'LAST USED', 'NAME'];
      for (const line of table(headings, rows)) ports.out(line);
    });
}

function keyWire(key: ApiKey): object {
  return {
    key_id: key.id,
    tenant_id: key.tenantId,
    name: key.name,
    scopes: key.scopes,
    rate_limit: key.rateLimit,
    expires_at: isoOrNull(key.expiresAt),
    last_used_at: isoOrNull(key.lastUsedAt),
    revoked_at: isoOrNull(key.revokedAt),
    last4: key.last4,
  };
}

/** `key revoke`: revokes a key immediately, also in a running server. */
export function addKeyRevoke(parent: Command, ports: Ports): void {
  parent
    .command('revoke')
    .description('revoke an API key immediately')
    .argument('<key>', 'key id')
    .action(async (id: string) => {
      const found = await withStorage(ports, async (opened) => {
        const { store, clock } = opened;
        const key = (await store.listKeys(null)).find((each) => each.id === id);
        if (key === undefined) return false;
        return await byCommand(opened, key.tenantId, () => store.revokeKey(id, clock.now()));
      });
      if (!found) throw new CommandError(`There is no key "${id}". List them with: key list`);
      ports.out(`${id} was revoked.`);
    });
}
