import type { Logger } from 'pino';
import type { Clock, Timer } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';

interface BeginDeps {
  clock: Clock;
  logger: Pick<Logger, 'error' | 'warn'>;
}

const RETRY_EVERY_MS = 1_000;

/** Work that starts once the storage is reachable. */
export interface Begun {
  /** Starts no further steps. */
  stop(): void;
}

/**
 * Runs the steps with which a server that already listens starts its work, once each and in order. A step that fails
 * because the storage is unreachable is retried every second in the background, so that an outage at this moment does
 * not end the server: until then it responds with 503, as in a later outage.
 * @throws the error of a step that fails at the first attempt for another reason
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
      // Storage failures are reported by the storage watch.
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
