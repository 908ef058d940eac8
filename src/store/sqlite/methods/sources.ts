import type { SourceStore } from '../../source-store.ts';
import type { Context } from '../context.ts';
import { createSourceRunSql } from '../tables/source-runs.ts';
import { createSourceSql } from '../tables/sources.ts';
import { pageByCreation } from './creation-pages.ts';

export function sourceMethods({ db, writer, read }: Context) {
  const sources = createSourceSql(db);
  const runs = createSourceRunSql(db);

  return {
    createSource: (source, limit) => writer.run('createSource', source, limit),
    getSource: (tenantId, id) => read(() => sources.get(tenantId, id)),
    pageSources: (tenantId, page) =>
      read(() => pageByCreation(page, (position) => sources.page(tenantId, position))),
    changeSource: (source, restart) => writer.run('changeSource', source, restart),
    deleteSource: (tenantId, id) => writer.run('deleteSource', tenantId, id),
    runSource: (tenantId, id, now) => writer.run('runSource', tenantId, id, now),
    claimSources: (claim) => writer.run('claimSources', claim),
    finishSourceRun: (run) => writer.run('finishSourceRun', run),
    recoverSources: () => writer.run('recoverSources'),
    nextSourceDue: () => read(() => runs.next()),
  } satisfies SourceStore;
}
