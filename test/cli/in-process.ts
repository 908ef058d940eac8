import { CommandError, type Ports } from '../../src/cli/ports.ts';
import { runCommand } from '../../src/cli/program.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { Ended } from './process.ts';

const unavailable = () => Promise.reject(new Error('this command opens no storage'));

/**
 * Runs a command in this process, on the storage that `open` returns, if any. Returns its output and the code
 * that it would exit with.
 */
export async function runInProcess(
  args: readonly string[],
  {
    env = {},
    clock = systemClock,
    open = unavailable,
  }: { env?: NodeJS.ProcessEnv; clock?: Clock; open?: Ports['open'] } = {},
): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const ports: Ports = {
    program: 'signalpost',
    release: async () => ({ version: '1.2.3', schema: 4, model: '2026-01-31' }),
    env,
    clock,
    out: (line) => {
      stdout += `${line}\n`;
    },
    err: (line) => {
      stderr += `${line}\n`;
    },
    setExitCode: () => undefined,
    open,
    migrate: unavailable,
    upkeep: unavailable,
    copyStore: unavailable,
    onStop: () => undefined,
  };
  try {
    await runCommand(args, ports);
    return { code: 0, stdout, stderr };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (error.message !== '') stderr += `${error.message}\n`;
    return { code: error.exitCode, stdout, stderr };
  }
}
