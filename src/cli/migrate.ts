import type { Command } from 'commander';
import type { Ports } from './ports.ts';

/** `migrate`: brings the storage to this release's schema, which `serve` also does by itself. */
export function addMigrate(parent: Command, ports: Ports): void {
  parent
    .command('migrate')
    .description('bring the storage to the schema of this release')
    .action(async () => {
      const { file, from, to } = await ports.migrate();
      const what = from === to ? `is at schema version ${to}` : `went from schema version ${from} to ${to}`;
      ports.out(`${file} ${what}.`);
    });
}
