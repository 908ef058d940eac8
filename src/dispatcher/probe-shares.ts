import type { DueProbe } from '../store/delivery-store.ts';

/** Due probes, longest due first, except those of some tenants. */
type ListDueProbes = (limit: number, exceptTenants: readonly string[]) => Promise<DueProbe[]>;

/**
 * Returns at most `room` due probes. Each tenant gets at most half of the remaining places unless no other tenant needs them: nine thousand failing
 * endpoints of one tenant would delay the probes of others by half an hour.
 */
export async function dueInShares(list: ListDueProbes, room: number): Promise<DueProbe[]> {
  const due: DueProbe[] = [];
  const over: DueProbe[] = [];
  const counts = new Map<string, number>();
  for (let left = room; left > 0; left = room - due.length) {
    const listed = await list(left, [...counts.keys()]);
    const share = Math.ceil(left / 2);
    for (const probe of listed) {
      const count = (counts.get(probe.tenantId) ?? 0) + 1;
      counts.set(probe.tenantId, count);
      (count <= share ? due : over).push(probe);
    }
    if (listed.length < left) break;
  }
  return [...due, ...over].slice(0, room);
}
