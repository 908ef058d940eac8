import type { Logger } from 'pino';
import type { Clock, Timer } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';

interface BeginDeps {
  clock: Clock;
  logger: Pick<Logger, 'error' | 'warn'>;
}

const RETRY_EVERY_MS = 1_000;

/** Work that begins once the storage can be reached. */
export interface Begun {
  /** Begins nothing more. */
  stop(): void;
}

/**
 * Runs the steps by which a server that already listens begins its work, each once, one after the other. A step that fails as the
 * storage cannot be reached is tried again each second, in the background, so that an outage in just this moment ends no server:
 * until then it answers 503, as in an outage later.
 * @throws what a step does at the first try for another reason
 */
export async function beginWork(
  { clock, logger }: BeginDeps,
  steps: readonly (() => Promise<void>)[],
): Promise<Begun> {
  const left = [...steps];
  let timer: Timer | null = null;
  let isStopped = false;

  async function run(): Promise<void> {
    for (let step = left[0]; step !== undefined && !isStopped; step = left[0]) {
      await step();
      left.shift();
    }
  }

  function planAnother(): void {
    if (!isStopped) timer = clock.after(RETRY_EVERY_MS, () => void tryAgain());
  }

  async function tryAgain(): Promise<void> {
    try {
      await run();
    } catch (err) {
      // That the storage fails was said, and is said where it is noticed.
      if (!isStopped && storageFaultOf(err) === null)
        logger.error({ err }, 'work cannot begin; trying again');
      planAnother();
    }
  }

  try {
    await run();
  } catch (err) {
    if (storageFaultOf(err) === null) throw err;
    logger.warn({ err }, 'the storage cannot be reached: deliveries and sources begin when it can be');
    planAnother();
  }
  return {
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
