/** Milliseconds that {@link calibrate} takes on the machine for which the limits of tests are written: idle, 2.1 GHz. */
const CALIBRATED_MS = 6;
/** The first ones are not compiled yet. */
const RUNS = 20;
/** The speed is measured again after this time, because what else runs on the machine changes. */
const VALID_MS = 2_000;

let slowness = 1;
let measuredAt = Number.NEGATIVE_INFINITY;

/** A mix of what the server does: text, objects, maps and numbers. */
function calibrate(): number {
  const counts = new Map<string, number>();
  let sum = 0;
  for (let n = 0; n < 4_000; n++) {
    const text = JSON.stringify({ id: n, words: `the word ${n % 97} of ${n % 31} texts` });
    const { words }: { words: string } = JSON.parse(text);
    for (const word of words.match(/\w+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (let i = 0; i < 500; i++) sum = (sum * 31 + i) | 0;
  }
  return sum + counts.size;
}

/**
 * How many times slower the machine is now than the one for which limits are written; at least 1. Processor time grows as well: a thread takes 1.7
 * times as long while another one runs on the same core, and a shared machine was half as fast from one day to the next. Limits that leave room
 * for both would not notice that a cost has doubled.
 */
export function slownessOfMachine(): number {
  if (performance.now() - measuredAt < VALID_MS) return slowness;
  // The least of several, by the clock: processor time is counted in steps of 4 ms.
  const runs = Array.from({ length: RUNS }, () => {
    const began = performance.now();
    calibrate();
    return performance.now() - began;
  });
  slowness = Math.max(1, Math.min(...runs) / CALIBRATED_MS);
  measuredAt = performance.now();
  return slowness;
}

/** The processor time of this thread so far, in milliseconds: unlike wall-clock time, it does not grow when other processes run. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The processor time of this thread for `work`, in milliseconds of the machine for which limits are written. */
export function cpuMsOf(work: () => void): number {
  const before = threadMs();
  work();
  return (threadMs() - before) / slownessOfMachine();
}

/** The same until `work` resolves, in all and in the longest turn of the event loop. */
export async function cpuOf(work: () => Promise<unknown>): Promise<{ allMs: number; longestMs: number }> {
  const began = threadMs();
  let longestMs = 0;
  let last = began;
  let isOver = false;
  const look = () => {
    const now = threadMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return { allMs: (last - began) / slownessOfMachine(), longestMs: longestMs / slownessOfMachine() };
}
