import type { Command } from 'commander';
import { byCommand, CommandError, type Ports, withStorage } from './ports.ts';

/** `key revoke`: ends one key at once, in a running server too. */
export function addKeyRevoke(parent: Command, ports: Ports): void {
  parent
    .command('revoke')
    .description('end an API key at once')
    .argument('<key>', 'key id')
    .action(async (id: string) => {
      const found = await withStorage(ports, async (opened) => {
        const { store, clock } = opened;
        const key = (await store.listKeys(null)).find((each) => each.id === id);
        if (key === undefined) return false;
        return await byCommand(opened, key.tenantId, () => store.revokeKey(id, clock.now()));
      });
      if (!found) throw new CommandError(`There is no key "${id}". List them with: key list`);
      ports.out(`${id} is revoked.`);
    });
}
