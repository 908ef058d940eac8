/** The processor time of this thread for `work`: unlike wall-clock time, it does not grow on a busy machine. */
export function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
