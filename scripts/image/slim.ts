import { globSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/* Removes files from node_modules of the current folder that a server on this platform never loads. */
const { platform, arch } = process;
const isMusl = !('glibcVersionRuntime' in (process.report.getReport() as { header: object }).header);
const remove = (path: string) => rmSync(join('node_modules', path), { recursive: true, force: true });

function keepOnly(folder: string, kept: string): void {
  const names = readdirSync(join('node_modules', folder));
  if (!names.includes(kept)) throw new Error(`${folder} has no ${kept}: it does not support this platform.`);
  for (const name of names.filter((one) => one !== kept)) remove(join(folder, name));
}

const runtimes = 'onnxruntime-node/bin/napi-v6';
keepOnly(runtimes, platform);
keepOnly(join(runtimes, platform), arch);
keepOnly('better-sqlite3/prebuilds', `${platform}${isMusl ? 'musl' : ''}-${arch}.node`);
for (const sources of ['deps', 'src', 'binding.gyp']) remove(join('better-sqlite3', sources));

const reading = globSync('node_modules/**/{*.{map,ts,mts,cts,md,markdown},test,tests}').filter(
  (path) => !/licen[cs]e|notice/i.test(path),
);
for (const path of reading) rmSync(path, { recursive: true, force: true });
console.log(`${reading.length} files that are only for readers and compilers were removed.`);
