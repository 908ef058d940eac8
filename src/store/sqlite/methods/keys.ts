import type { KeyStore } from '../../key-store.ts';
import type { Context } from '../context.ts';
import { createKeySql } from '../tables/keys.ts';
import { pageByCreation } from './creation-pages.ts';

export function keyMethods({ db, writer, read }: Context) {
  const keys = createKeySql(db);

  return {
    pageKeys: (tenantId, page) =>
      read(() => pageByCreation(page, (position) => keys.page(tenantId, position))),
    getKey: (tenantId, id) => read(() => keys.get(tenantId, id)),
    changeKey: (tenantId, id, change) => writer.run('changeKey', tenantId, id, change),
  } satisfies KeyStore;
}
