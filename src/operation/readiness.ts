import type { DispatcherPulse } from '../dispatcher/dispatcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';

export interface ReadinessParts {
  clock: Clock;
  store: Pick<Store, 'probe' | 'pulse'>;
  dispatcher: (() => DispatcherPulse) | null;
}

/** One thing that must be well, and in words what is not. */
export type Check = { ok: true } | { ok: false; detail: string };

export interface Readiness {
  status: 'ready' | 'unready';
  checks: Record<'store' | 'disk' | 'writer' | 'dispatcher', Check>;
}

/** A change takes milliseconds; who waits longer than this for one is better served elsewhere. */
const WRITE_WITHIN_MS = 3_000;
/** What the write-ahead log grows to before anything is refused, with some to spare. */
const LEAST_FREE_BYTES = 32 * 1024 * 1024;

const OK: Check = { ok: true };

/** Tells whether the server does its work now: it makes a real write. Two who ask at once share one answer. */
export function createReadiness(parts: ReadinessParts): () => Promise<Readiness> {
  let underWay: Promise<Readiness> | null = null;

  async function look(): Promise<Readiness> {
    const checks = {
      store: await canWrite(parts),
      disk: hasRoom(parts),
      writer: writes(parts),
      dispatcher: delivers(parts),
    };
    const well = Object.values(checks).every(({ ok }) => ok);
    return { status: well ? 'ready' : 'unready', checks };
  }

  return () => {
    underWay ??= look().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}

function canWrite({ store, clock }: ReadinessParts): Promise<Check> {
  return new Promise((resolve) => {
    const seconds = WRITE_WITHIN_MS / 1_000;
    const late = clock.after(WRITE_WITHIN_MS, () =>
      resolve(failed(`no change was stored within ${seconds} s`)),
    );
    const settle = (check: Check) => {
      late.cancel();
      resolve(check);
    };
    store.probe().then(
      () => settle(OK),
      (error: unknown) => settle(failed(error instanceof Error ? error.message : 'the storage failed')),
    );
  });
}

function hasRoom({ store }: ReadinessParts): Check {
  let free: number | null;
  try {
    free = store.pulse().freeBytes;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    return failed(`the data folder cannot be looked at (${code})`);
  }
  if (free === null || free >= LEAST_FREE_BYTES) return OK;
  return failed(`${Math.floor(free / 1024 / 1024)} MiB are free under DATA_DIR; make room`);
}

function writes({ store }: ReadinessParts): Check {
  const { accepting, queueLength, queueLimit } = pulseOf(store);
  if (!accepting) return failed('nothing is stored any more; the server stops');
  return queueLength < queueLimit ? OK : failed(`${queueLength} changes wait to be stored`);
}

/** Without the file system, which is asked for above. */
function pulseOf(store: ReadinessParts['store']) {
  try {
    return store.pulse();
  } catch {
    return { accepting: true, queueLength: 0, queueLimit: 1 };
  }
}

function delivers({ dispatcher }: ReadinessParts): Check {
  const stuck = dispatcher?.().stuck ?? null;
  return stuck === null ? OK : failed(stuck);
}

function failed(detail: string): Check {
  return { ok: false, detail };
}
