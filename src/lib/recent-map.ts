/** A map of bounded size: what was used longest ago makes room, and nothing else. */
export interface RecentMap<K, V> {
  readonly size: number;
  /** Counts as a use. */
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
}

/** @param most how many entries it holds, at least 1 */
export function createRecentMap<K, V>(most: number): RecentMap<K, V> {
  // A Map keeps the order in which its keys were set.
  const entries = new Map<K, V>();

  function set(key: K, value: V): void {
    entries.delete(key);
    entries.set(key, value);
    if (entries.size <= most) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      return;
    }
  }

  return {
    get size() {
      return entries.size;
    },
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete: (key) => void entries.delete(key),
  };
}
