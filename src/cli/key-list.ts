import type { Command } from 'commander';
import { keyRefusal } from '../accounts/keys.ts';
import { toIso } from '../lib/clock.ts';
import type { ApiKey } from '../model/key.ts';
import { type Ports, withStorage } from './ports.ts';
import { table } from './table.ts';

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** `key list`: API keys without their secrets, revoked ones too. */
export function addKeyList(parent: Command, ports: Ports): void {
  parent
    .command('list')
    .description('list API keys')
    .option('--tenant <id>', 'of this tenant only')
    .option('--json', 'a JSON array on stdout')
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
