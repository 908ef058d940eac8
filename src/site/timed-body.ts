import { toIso } from '../lib/clock.ts';

const PLACE = '\u0000time\u0000';

/** JSON of a document of which only a time changes, put together once around that time. */
export function createTimedBody(document: (time: string) => unknown): (ms: number) => string {
  const [head = '', tail = ''] = JSON.stringify(document(PLACE)).split(JSON.stringify(PLACE).slice(1, -1));

  // Under load many answers share a millisecond, and formatting it is the dearest part of one.
  let lastMs = Number.NaN;
  let body = '';
  return (ms) => {
    if (ms !== lastMs) {
      lastMs = ms;
      body = `${head}${toIso(ms)}${tail}`;
    }
    return body;
  };
}
