import { serializerCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { pageBytes } from '../../src/api/list.ts';
import { paginationSchema } from '../../src/http/paging.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { parseRows } from '../../src/lib/json.ts';
import { letGo } from '../../src/lib/lists.ts';
import { signalFilters, signalSchema } from '../../src/model/signal.ts';
import type { Store } from '../../src/store/store.ts';
import { median } from '../report.ts';

const BLOCKS = 41;
const PAGES_A_BLOCK = 50;
const PAGINATION = { next_cursor: 'x'.repeat(64), has_more: true, limit: 50 };

/** Microseconds per page, from the query to the response's text. */
export interface PageMade {
  oursUs: number;
  floorUs: number;
  /** The median of the ratios of pairs of blocks. */
  ratio: number;
}

/**
 * The same page of 50 both ways in one process, in alternating blocks: rows joined as they are stored, and rows
 * as objects through the zod serializer. The rows come from the database on both sides.
 */
export async function timePagesMade(store: Store, tenantId: string): Promise<PageMade> {
  const asked = { ...signalFilters.of({}), limit: 50, explain: false, after: null };
  const list = () => store.listSignals(tenantId, asked);
  const page = z.strictObject({ data: z.array(signalSchema), pagination: paginationSchema });
  const serialize = serializerCompiler({ schema: page, method: 'GET', url: '/v1/signals' });
  const ours = async () => {
    const { json } = await list();
    return pageBytes([json], PAGINATION, systemClock);
  };
  const floor = async () => {
    const { json } = await list();
    const data = parseRows(json);
    letGo(json);
    return serialize({ data, pagination: PAGINATION });
  };
  if ((await ours()).toString() !== (await floor())) throw new Error('the two sides return different pages');

  const blocks: { ours: number; floor: number }[] = [];
  for (let i = 0; i < BLOCKS; i++) {
    blocks.push({ floor: await timeBlock(floor), ours: await timeBlock(ours) });
  }
  const steady = blocks.slice(Math.floor(BLOCKS / 4)); // the code is still being compiled before
  return {
    oursUs: median(steady.map((block) => block.ours)),
    floorUs: median(steady.map((block) => block.floor)),
    ratio: median(steady.map((block) => block.floor / block.ours)),
  };
}

async function timeBlock(make: () => Promise<string | Buffer>): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < PAGES_A_BLOCK; i++) await make();
  return ((performance.now() - started) / PAGES_A_BLOCK) * 1_000;
}
