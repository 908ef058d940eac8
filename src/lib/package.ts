import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** The package contains `src`, which Node runs directly, and `dist`, which is built from it, as siblings. */
const ROOT = join(import.meta.dirname, '../..');

/** The path of a file that ships with the package: pages, samples, models, word tables. */
export function inPackage(path: string): string {
  return join(ROOT, path);
}

/** The package's name and the version of this release. */
export const PACKAGE: Readonly<{ name: string; version: string }> = JSON.parse(
  readFileSync(inPackage('package.json'), 'utf8'),
);

/**
 * The URL of a module next to `url`, as the entry point of a thread or process: TypeScript in `src`,
 * JavaScript in `dist`.
 */
export function moduleBeside(url: string, name: string): URL {
  return new URL(`${name}${extname(url)}`, url);
}
