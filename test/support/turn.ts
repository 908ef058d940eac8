/** Occupies the thread for longer than a task may without yielding, and returns the number of the event loop's turn. */
export function workForATurn(): number {
  const until = performance.now() + 6;
  while (performance.now() < until);
  return performance.nodeTiming.uvMetricsInfo.loopCount;
}

/** Counts turns of the event loop from now on. Returns a function that stops and returns their number. */
export function countTurns(): () => number {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  return () => {
    isOver = true;
    return turns;
  };
}

/** Several turns of the event loop: what `createReleases` releases waits for a later one if much was done in this turn. */
export async function severalTurns(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
}
