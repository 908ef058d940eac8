import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type ResourceLimits, Worker } from 'node:worker_threads';

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

/** How a thread starts, and what it reports. */
interface ThreadTerms<Answer> {
  workerData?: unknown;
  resourceLimits: ResourceLimits;
  answered(answer: Answer): void;
  /** Called with the error that ended it, and then, or without one, when it has ended. */
  ended(error: Error | null): void;
}

/**
 * Starts the module `name` next to `url` in a thread, without the process's own flags: a thread rejects some of them. It does not keep
 * the process alive, unless the caller refs it while an answer is pending.
 */
export function startThread<Answer extends object>(
  url: string,
  name: string,
  { workerData, resourceLimits, answered, ended }: ThreadTerms<Answer>,
): Worker {
  const worker = new Worker(moduleBeside(url, name), { workerData, execArgv: [], resourceLimits });
  worker.unref();
  worker.on('message', (message: Answer) => {
    // Under `node --watch`, Node itself reports the thread's imports this way (test/cli/content.test.ts).
    if (!('watch:import' in message || 'watch:require' in message)) answered(message);
  });
  worker.on('error', ended);
  worker.on('exit', () => ended(null));
  return worker;
}
