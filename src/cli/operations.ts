import type { Command } from 'commander';
import { PUBLIC_OPERATIONS, type PublicOperation } from '../model/public-api.ts';
import type { Ports } from './ports.ts';
import { addPublicCommand, askForJson } from './public-call.ts';
import { askReadiness } from './readiness.ts';

/** A command for each operation of the public API: it prints the answer, if that is what the operation promises. */
export function addOperations(parent: Command, ports: Ports): void {
  for (const operation of PUBLIC_OPERATIONS) {
    const { command, summary } = operation;
    const added = addPublicCommand(parent, command, `${summary.toLowerCase()} of a running server`);
    if (command === 'health')
      added.option('--ready', 'ask whether it does its work, not only whether it lives');
    added.action(async ({ baseUrl, ready }: { baseUrl?: string; ready?: boolean }) => {
      const ask = ready ? askReadiness(ports, baseUrl) : askPublic(ports, baseUrl, operation);
      ports.out(await ask);
    });
  }
}

async function askPublic(
  ports: Ports,
  baseUrl: string | undefined,
  { path, response }: PublicOperation,
): Promise<string> {
  return (await askForJson(ports, { baseUrl, path }, response)).text;
}
