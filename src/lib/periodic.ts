import type { Clock, Timer } from './clock.ts';
import { smallestOf } from './lists.ts';

/** Whether the process is stopping. */
export type IsStopping = () => boolean;

/**
 * A periodic job. `run` calls `isStopping` regularly and returns early if it is true; the job continues at
 * its next run.
 */
export interface PeriodicJob {
  name: string;
  everyMs: number;
  run(isStopping: IsStopping): Promise<void>;
}

export interface PeriodicOptions {
  clock: Clock;
  jobs: readonly PeriodicJob[];
  /** Called when a job fails. The job runs again at its next time. */
  onError(job: string, error: unknown): void;
}

export interface Periodic {
  /** Runs every job soon, and then each one at its interval. */
  start(): void;
  /** Starts no more jobs; resolves when the current one has ended. */
  stop(): Promise<void>;
}

/** Delay of the first run after startup, when the process has other things to do. */
const FIRST_AFTER_MS = 1_000;

/** Runs jobs one at a time: none is urgent, and together they would load the store. */
export function createPeriodic({ clock, jobs, onError }: PeriodicOptions): Periodic {
  const dueAt = new Map<PeriodicJob, number>();
  let timer: Timer | null = null;
  let stopping = false;
  let running: Promise<void> = Promise.resolve();

  async function runDue(): Promise<void> {
    for (const job of jobs) {
      if (stopping) return;
      if ((dueAt.get(job) ?? 0) > clock.monotonic()) continue;
      try {
        await job.run(() => stopping);
      } catch (error) {
        onError(job.name, error);
      }
      dueAt.set(job, clock.monotonic() + job.everyMs);
    }
    arm();
  }

  function arm(): void {
    if (stopping) return;
    const next = smallestOf(jobs.map((job) => dueAt.get(job) ?? 0));
    timer = clock.after(Math.max(0, next - clock.monotonic()), wake);
  }

  function wake(): void {
    running = runDue();
  }

  return {
    start() {
      timer = clock.after(FIRST_AFTER_MS, wake);
    },
    stop() {
      stopping = true;
      timer?.cancel();
      return running;
    },
  };
}
