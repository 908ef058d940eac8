import { join } from 'node:path';
import { Writable } from 'node:stream';
import Sqlite from 'better-sqlite3';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { pino } from 'pino';
import { z } from 'zod';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { prepareEngine } from '../../src/engine.ts';
import { addAuthentication, addKeyLimits, callerOf } from '../../src/http/auth.ts';
import { cursorScope, paginate, paginationSchema, pagingQuery, readCursor } from '../../src/http/paging.ts';
import { createProblems } from '../../src/http/problems.ts';
import { setApiHeaders } from '../../src/http/request-context.ts';
import { parseRows } from '../../src/lib/json.ts';
import { signalFilters, signalSchema } from '../../src/model/signal.ts';
import { openRuntime, type Runtime } from '../../src/runtime.ts';
import { loadSiteContent } from '../../src/site/content/site-content.ts';
import { type PageMade, timePagesMade } from './page-made.ts';

/**
 * Orders for the server: open a folder, create the cursor of a page at a depth of a tenant's list, measure creating pages, or report
 * the CPU time of all of its threads, in milliseconds.
 */
export type Order = { open: string } | { cursorAt: number; tenantId: string } | { make: string } | 'used';

/** The limit is checked as for every tenant, but never reached here: 1,000 requests per second are soon exceeded. */
const tenantLimit = () => 1_000_000_000;

let runtime: Runtime | null = null;

prepareEngine(); // as the server does
process.on('message', (order: Order) => {
  void answer(order).then((said) => process.send?.(said));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function answer(order: Order): Promise<string | number | PageMade> {
  if (order === 'used') return usedMs();
  if ('open' in order) return open(order.open);
  if (runtime === null) throw new Error('nothing is open');
  return 'make' in order ? timePagesMade(runtime.store, order.make) : cursorAt(runtime, order);
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The whole app, plus the same list through the zod serializer, with the same hooks. */
async function open(dataDir: string): Promise<string> {
  const config = loadConfig({ DATA_DIR: dataDir, DASHBOARD_RATE_LIMIT: '1000000' });
  // Log lines are created as in production, and discarded.
  const logger = pino({ level: 'info' }, new Writable({ write: (_chunk, _encoding, done) => done() }));
  runtime = await openRuntime(config, { writerThread: true, logger });
  const app = buildApp({
    ...runtime,
    content: await loadSiteContent(config),
    tenantLimit,
    sendTest: () => Promise.reject(new Error('there is no dispatcher here')),
  });
  app.register(zodPages, { prefix: '/zod', runtime });
  return app.listen({ host: '127.0.0.1', port: 0 });
}

async function zodPages(app: FastifyInstance, { runtime }: { runtime: Runtime }): Promise<void> {
  const { store, cursors, config } = runtime;
  const problems = createProblems(config.baseUrl);
  const limits = addKeyLimits(app, { ...runtime, problems, tenantLimit });
  app.addHook('onRequest', (_request, reply, done) => {
    setApiHeaders(reply);
    done();
  });
  addAuthentication(app, { ...runtime, limits });
  app.withTypeProvider<ZodTypeProvider>().get(
    '/signals',
    {
      config: { scope: 'signals:read' },
      schema: {
        querystring: signalFilters.query.extend(pagingQuery),
        response: { 200: z.strictObject({ data: z.array(signalSchema), pagination: paginationSchema }) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { limit, cursor, ...query } = request.query;
      const filters = signalFilters.toFilters(query);
      const scope = cursorScope('signals', tenant.id, filters);
      const after = readCursor(cursors, scope, cursor);
      const page = await store.listSignals(tenant.id, { ...filters, limit, explain: false, after });
      const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
      return {
        data: parseRows<z.output<typeof signalSchema>>(page.json),
        pagination: paginate(request, reply, {
          baseUrl: config.baseUrl,
          nextCursor,
          hasMore: nextCursor !== null,
          limit,
        }),
      };
    },
  );
}

/** The position of a deep page is read from the database, without reading all pages before it. */
function cursorAt({ config, cursors }: Runtime, order: { cursorAt: number; tenantId: string }): string {
  const db = new Sqlite(join(config.dataDir, 'signalpost.db'), { readonly: true });
  const position = db
    .prepare<[string, number], [number, number]>(
      'SELECT seq >> 21, seq & 2097151 FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?',
    )
    .raw()
    .get(order.tenantId, order.cursorAt);
  db.close();
  return cursors.encode(cursorScope('signals', order.tenantId, signalFilters.of({})), position ?? []);
}
