import type { Command } from 'commander';
import { PUBLIC_OPERATIONS } from '../model/public-api.ts';
import type { Ports } from './ports.ts';
import { addPublicCommand, askForJson } from './public-call.ts';

/** A command for each operation of the public API: it prints the answer, if that is what the operation promises. */
export function addOperations(parent: Command, ports: Ports): void {
  for (const { command, path, summary, response } of PUBLIC_OPERATIONS) {
    addPublicCommand(parent, command, `${summary.toLowerCase()} of a running server`).action(
      async ({ baseUrl }: { baseUrl?: string }) => {
        ports.out((await askForJson(ports, { baseUrl, path }, response)).text);
      },
    );
  }
}
