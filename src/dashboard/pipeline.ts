import type { FastifyInstance } from 'fastify';
import { fromIso } from '../lib/clock.ts';
import type { Lead } from '../model/lead.ts';
import { STAGES } from '../model/pipeline.ts';
import { memberOf } from './gate.ts';
import { nameOf } from './lead-screen.ts';
import { money } from './money.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

/** Leads that a column shows; a link leads to the rest. */
const COLUMN_LEADS = 20;
const DAY_MS = 86_400_000;

/** `/dashboard/pipeline`: the board. Leads move by a form, which the script sends when a card is dragged. */
export function addPipeline(app: FastifyInstance, { store, clock }: DashboardParts, show: Show): void {
  app.get('/pipeline', async (request, reply) => {
    const board = await store.readBoard(memberOf(request).tenant.id, COLUMN_LEADS);
    const now = clock.now();
    const columns = board.map(({ leads, ...column }) => ({
      ...column,
      cards: leads.map((row) => cardOf(JSON.parse(row) as Lead, now)),
    }));
    return show(request, reply, {
      template: 'pipeline',
      title: 'Pipeline',
      columns,
      stages: STAGES,
      money,
      isEmpty: columns.every(({ count }) => count === 0),
    });
  });
}

function cardOf(lead: Lead, now: number) {
  return {
    lead,
    name: nameOf(lead),
    days: Math.max(0, Math.floor((now - fromIso(lead.stage_changed_at)) / DAY_MS)),
    isClosed: lead.stage === 'won' || lead.stage === 'lost',
  };
}
