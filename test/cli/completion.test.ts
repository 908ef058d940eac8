import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runInProcess } from './in-process.ts';
import { temporaryFolder } from './process.ts';

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(['completion', shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Runs `program` in a real shell, and returns the lines it printed. */
function inShell(shell: string, program: string): string[] {
  const { status, stdout, stderr } = spawnSync(shell, ['-c', program], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

const lacks = (shell: string) => !existsSync(`/usr/bin/${shell}`) && !existsSync(`/bin/${shell}`);

/** The words typed (the last one is being completed), and the completions offered. */
const TYPED: [string[], string[]][] = [
  [['ten'], ['tenant']],
  [
    ['tenant', ''],
    ['create', 'list', 'plan', 'setup-link', '--help'],
  ],
  [['tenant', 'create', '--pl'], ['--plan']],
  [
    ['tenant', 'create', '--plan', ''],
    ['trial', 'starter', 'pro', 'enterprise'],
  ],
  [['tenant', 'create', '--name', 'serve', '--em'], ['--email']],
  [['tenant', 'plan', 'ten_1', 'p'], ['pro']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', '--help'],
  ],
];

test.skipIf(lacks('bash')).each(TYPED)('bash completes %j', async (words, offered) => {
  const script = await scriptFor('bash');
  const line = ['signalpost', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _signalpost; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(inShell('bash', `${script}\n${ask}`)).toEqual(offered);
});

test.skipIf(lacks('fish')).each(TYPED)('fish completes %j', async (words, offered) => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'signalpost.fish');
  writeFileSync(file, await scriptFor('fish'));
  const found = inShell('fish', `source ${file}; complete -C 'signalpost ${words.join(' ')}'`);
  const named = found.map((line) => line.split('\t')[0]);
  // fish offers options only for words that start with a hyphen.
  expect(named.sort()).toEqual(offered.filter((word) => word !== '--help').sort());
});

test.skipIf(lacks('zsh'))('zsh loads the script and registers it for the command', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, '_signalpost');
  writeFileSync(file, await scriptFor('zsh'));
  const program = `autoload -Uz compinit; compinit -u -d ${folder.path}/dump; source ${file}; echo $_comps[signalpost]`;
  expect(inShell('zsh', program)).toEqual(['_signalpost']);
});

test('an unknown shell is refused with a list of the known ones', async () => {
  const { code, stderr } = await runInProcess(['completion', 'tcsh']);
  expect(code).toBe(64);
  expect(stderr).toContain('bash, zsh, fish');
});

test.each(['--version', '-V'])('%s prints version, schema and model', async (option) => {
  const { code, stdout } = await runInProcess([option]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1.2.3 (schema 4, model 2026-01-31)\n' });
});
