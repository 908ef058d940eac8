import type { ErasureStore } from '../../erasure-store.ts';
import type { Context } from '../context.ts';
import { createErasureSql } from '../tables/erasure.ts';

export function erasureMethods({ db, writer, read }: Context) {
  const erasure = createErasureSql(db);

  return {
    findEventsNaming: (scan) => read(() => erasure.scan(scan)),
    eraseLead: (change) => writer.run('eraseLead', change),
  } satisfies ErasureStore;
}
