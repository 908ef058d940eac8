/** Processor time of this thread that `work` takes: a busy machine makes it no longer, as it does time by the clock. */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
