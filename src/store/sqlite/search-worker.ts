import { parentPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import type { SignalQuery } from '../../model/signal.ts';
import type { SignalPage } from '../signal-store.ts';
import { signalReads } from './reads/signals.ts';

/** A page that is asked for. */
export interface SearchRequest {
  id: number;
  tenantId: string;
  query: SignalQuery;
}

/** A page's bytes and where it ends; null: it could not be made here. */
export interface SearchAnswer {
  id: number;
  page: { json: ArrayBuffer; last: SignalPage['last'] } | null;
}

if (parentPort !== null) serve(parentPort, workerData as { file: string });

function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const { listSignals } = signalReads(new Sqlite(file, { readonly: true }));
  port.on('message', ({ id, tenantId, query }: SearchRequest) => {
    let page: SearchAnswer['page'] = null;
    try {
      const { json, last } = listSignals(tenantId, query);
      page = { json: Uint8Array.from(json).buffer, last };
    } catch {
      // Whoever asked asks again where errors keep their kind.
    }
    port.postMessage({ id, page } satisfies SearchAnswer, page === null ? [] : [page.json]);
  });
}
