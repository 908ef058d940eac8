import type { Store } from './store.ts';

/** A lock that processes on one storage share, on any number of an owner's names. */
export interface SharedLock {
  /** Waits until no other process holds one of them; the result releases them. @throws DomainError `UNAVAILABLE` after a while */
  take(owner: string, names: readonly string[]): Promise<() => Promise<void>>;
}

/** Lets work of an owner with a common name run one after the other in this process and, from `lockOut` on, in all with the same `lock`. */
export function createTurns(lock: SharedLock | null): Store['inTurn'] {
  /** The last one of each name. */
  const underWay = new Map<string, Promise<unknown>>();

  return async (owner, parts, work) => {
    const names = parts.map((part) => `${owner} ${part}`);
    const before = Promise.allSettled(names.flatMap((name) => underWay.get(name) ?? []));
    const working = before.then(() => workAlone(owner, parts, work));
    for (const name of names) underWay.set(name, working);
    try {
      return await working;
    } finally {
      for (const name of names) if (underWay.get(name) === working) underWay.delete(name);
    }
  };

  async function workAlone<T>(
    owner: string,
    names: readonly string[],
    work: (lockOut: () => Promise<boolean>) => Promise<T>,
  ): Promise<T> {
    let release: (() => Promise<void>) | null = null;
    const lockOut = async () => {
      release ??= (await lock?.take(owner, names)) ?? null;
      return release !== null;
    };
    try {
      return await work(lockOut);
    } finally {
      await (release as (() => Promise<void>) | null)?.();
    }
  }
}
