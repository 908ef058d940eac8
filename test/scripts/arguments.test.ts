import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const runScript = (file: string, ...args: string[]) =>
  spawnSync(process.execPath, [file, ...args], { encoding: 'utf8', timeout: 60_000 });

test.each(['bench/main.ts', 'scripts/torture/main.ts'])(
  '%s explains its options, without a stack trace',
  (file) => {
    const help = runScript(file, '--help');
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toMatch(/^Usage: npm run \w+ /);
    const unknown = runScript(file, '--no-such-option');
    expect(unknown.status).toBe(64);
    expect(unknown.stderr).toMatch(/Unknown option '--no-such-option'/);
    expect(unknown.stderr).toContain(help.stdout.trim());
    expect(unknown.stderr).not.toContain('    at ');
  },
  120_000,
);
