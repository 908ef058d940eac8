import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** What `npm start` tells Node before the program's name: tests and benchmarks of the server run what its users run. */
export const START_FLAGS: readonly string[] = String(scripts.start)
  .split(' ')
  .filter((word) => word.startsWith('--'));
