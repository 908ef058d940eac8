import type { Command } from 'commander';
import { EXIT, type Ports } from './ports.ts';

/** `backup`, `restore`, `check` and `key rotate`: what keeps a data folder whole. */
export function addUpkeep(parent: Command, key: Command, ports: Ports): void {
  parent
    .command('backup <file>')
    .description('back the database up into a file, also while the server runs; the file is checked')
    .option('--with-key', 'pack the master key with it: keep such a file as you would keep the key')
    .action((file: string, { withKey = false }: { withKey?: boolean }) => backUp(ports, file, withKey));
  parent
    .command('restore <file>')
    .description('put a backup into the place of the database, which is put aside; the server must not run')
    .action((file: string) => restore(ports, file));
  parent
    .command('check')
    .description('check everything that is stored, also while the server runs; exit code 0 sound, 1 not')
    .action(() => check(ports));
  key
    .command('rotate')
    .description('make a new master key; older ones still open what they closed. The server must not run')
    .action(() => rotate(ports));
}

async function backUp(ports: Ports, file: string, withKey: boolean): Promise<void> {
  const upkeep = await ports.upkeep();
  const { target, bytes, version } = await upkeep.backUp(file, withKey, progress(ports));
  ports.out(`${target}: ${megabytes(bytes)}, schema version ${version}, checked.`);
  if (withKey)
    ports.err('The master key is packed with it: whoever has the file can read the secrets in it.');
  else {
    ports.err(
      'The master key is not in it, and belongs with it: keep secrets.key (or SECRETS_KEY) too, in another place, ' +
        'or make the backup with --with-key. Without the key no webhook secret can be read.',
    );
  }
}

async function restore(ports: Ports, from: string): Promise<void> {
  const upkeep = await ports.upkeep();
  const { file, putAside, key } = await upkeep.restore(from, progress(ports));
  ports.out(`${file} is restored from ${from}.`);
  if (putAside !== null) ports.out(`What was there before lies in ${putAside}.`);
  if (key === 'packed') ports.out('The master key came with the backup.');
  if (key === 'missing') {
    ports.err(
      'The master key is missing: put the secrets.key that belongs to it beside it, or set SECRETS_KEY, before the start.',
    );
  }
  ports.err('What was delivered after the backup was made is delivered again, under the same webhook-id.');
}

async function check(ports: Ports): Promise<void> {
  const { file, findings, total } = (await ports.upkeep()).check();
  for (const { part, detail } of findings) ports.out(`${part}: ${detail}`);
  if (total > findings.length) ports.out(`… and ${total - findings.length} more`);
  ports.out(total === 0 ? `${file} is sound.` : `${file} is not sound: ${total} found.`);
  if (total > 0) ports.setExitCode(EXIT.failed);
}

async function rotate(ports: Ports): Promise<void> {
  const rotated = (await ports.upkeep()).rotateKey();
  if ('file' in rotated) {
    ports.out(`${rotated.file} has a new master key; the ones before it stand below it. Back it up.`);
  } else {
    ports.err('Set SECRETS_KEY to this from now on: the new key, and those before it. Back it up.');
    ports.out(rotated.setting);
  }
}

/** At most a line for each tenth, on stderr. */
function progress(ports: Ports): (part: number) => void {
  let told = 0;
  return (part) => {
    const tenths = Math.floor(part * 10);
    if (tenths > told && tenths < 10) ports.err(`${tenths * 10} %`);
    told = Math.max(told, tenths);
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
