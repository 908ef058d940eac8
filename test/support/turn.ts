/** Occupies the thread for longer than a task may without yielding, and returns the number of the event loop's turn. */
export function workForATurn(): number {
  const until = performance.now() + 6;
  while (performance.now() < until);
  return performance.nodeTiming.uvMetricsInfo.loopCount;
}
