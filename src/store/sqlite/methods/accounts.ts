import type { AccountStore } from '../../account-store.ts';
import type { Context } from '../context.ts';
import { createKeySql } from '../tables/keys.ts';
import { createTenantSql } from '../tables/tenants.ts';

const TOUCH_INTERVAL_MS = 60_000;

export function accountMethods({ db, writer, read }: Context) {
  const tenants = createTenantSql(db);
  const keys = createKeySql(db);
  const touchedAt = new Map<string, number>();

  return {
    createTenant: (change) => writer.run('createTenant', change),
    listTenants: () => read(() => tenants.list()),
    getTenant: (id) => read(() => tenants.get(id)),
    createKey: (key) => writer.run('createKey', key),
    listKeys: (tenantId) => read(() => keys.list(tenantId)),
    findKey: (hash) => read(() => keys.find(hash)),
    async touchKey(id, now) {
      // Guarded here, before the queue: a key may be used thousands of times a second.
      const last = touchedAt.get(id);
      if (last !== undefined && now >= last && now - last < TOUCH_INTERVAL_MS) return;
      touchedAt.set(id, now);
      try {
        await writer.run('touchKey', id, now);
      } catch (error) {
        touchedAt.delete(id);
        throw error;
      }
    },
    revokeKey: (id, now) => writer.run('revokeKey', id, now),
  } satisfies AccountStore;
}
