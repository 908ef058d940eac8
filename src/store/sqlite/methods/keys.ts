import { DomainError } from '../../../model/errors.ts';
import type { KeyStore } from '../../key-store.ts';
import type { Context } from '../context.ts';
import { createKeySql } from '../tables/keys.ts';

export function keyMethods({ db, writer, read }: Context) {
  const keys = createKeySql(db);

  return {
    pageKeys: (tenantId, { limit, after }) =>
      read(() => {
        const [createdAt = -1, id = ''] = after ?? [];
        if (typeof createdAt !== 'number' || typeof id !== 'string') {
          throw new DomainError('INVALID_CURSOR', 'The cursor is of another list.');
        }
        const found = keys.page(tenantId, { createdAt, id, limit: limit + 1 });
        const rows = found.slice(0, limit);
        const last = found.length > limit ? rows.at(-1) : undefined;
        return { rows, last: last === undefined ? null : [last.createdAt, last.id] };
      }),
    getKey: (tenantId, id) => read(() => keys.get(tenantId, id)),
    changeKey: (tenantId, id, change) => writer.run('changeKey', tenantId, id, change),
  } satisfies KeyStore;
}
