import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The flags that `npm start` passes to Node: tests and benchmarks run the server like its users. */
export const START_FLAGS: readonly string[] = String(scripts.start)
  .split(' ')
  .filter((word) => word.startsWith('--'));
