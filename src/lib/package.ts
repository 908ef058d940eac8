import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** `src`, which Node runs as it is, and `dist`, which is built from it, lie side by side in the package. */
const ROOT = join(import.meta.dirname, '../..');

/** Where something lies that the package brings along: pages, samples, the encoder. */
export function inPackage(path: string): string {
  return join(ROOT, path);
}

/** The package's name and the version of this release. */
export const PACKAGE: Readonly<{ name: string; version: string }> = JSON.parse(
  readFileSync(inPackage('package.json'), 'utf8'),
);

/** The address of a module beside the one at `url`, for a thread or process to begin with: TypeScript in `src`, JavaScript in `dist`. */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`${name}${extname(url)}`, url);
}
