import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireLead } from '../leads/changes.ts';
import { headlinesOf, nameOf } from '../leads/lead-names.ts';
import { moveLead } from '../leads/move-lead.ts';
import { DAY_MS, fromIso } from '../lib/clock.ts';
import { parseInTurns } from '../lib/json.ts';
import { dealStatusIn, STAGES } from '../model/constants.ts';
import { DomainError } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import { moveInputSchema, type Stage } from '../model/pipeline.ts';
import type { StageFlow } from '../store/lead-store.ts';
import { funnelHtml } from './charts.ts';
import type { DashboardDeps } from './deps.ts';
import { formOf, text, ticked } from './forms.ts';
import { checked, leadCallerOf, memberOf } from './gate.ts';
import { money } from './leads.ts';
import type { Show } from './screens.ts';

/** Leads shown per column; a link leads to the rest. */
const COLUMN_LEADS = 20;
/** The funnel covers leads created in this many days. */
const FUNNEL_DAYS = 90;
const FUNNEL_LEADS = 5_000;
/** The stages that leads progress through; `lost` is not one of them. */
const STEPS: readonly Stage[] = STAGES.filter((stage) => stage !== 'lost');

/** A move that needs a reason first, or that was refused. */
interface Refused {
  fault: string;
  /** Asks why this lead was lost. */
  asking: { lead: Lead; name: string } | null;
}

/** `/dashboard/pipeline`: the board. Leads are moved with a form, which the script submits when a card is dropped. */
export function addPipeline(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store, clock } = deps;

  async function board(request: FastifyRequest, reply: FastifyReply, refused: Refused | null) {
    const { tenant } = memberOf(request);
    const now = clock.now();
    const [columns, flow] = await Promise.all([
      store.readBoard(tenant.id, COLUMN_LEADS),
      store.readStageFlow(tenant.id, { since: now - FUNNEL_DAYS * DAY_MS, leads: FUNNEL_LEADS }),
    ]);
    const leads = await parseInTurns<Lead>(columns.flatMap((column) => column.leads));
    const headlines = await headlinesOf(store, leads);
    const cards = leads.map((lead) => cardOf(lead, headlines.get(lead.id) ?? '', now));
    return show(request, reply, {
      template: 'pipeline',
      title: 'Pipeline',
      status: refused === null ? 200 : 400,
      columns: columns.map(({ stage, count, value }) => ({
        ...{ stage, count, value },
        cards: cards.filter(({ lead }) => lead.stage === stage),
      })),
      stages: STAGES,
      money,
      funnelHtml: flow.leads === 0 ? '' : flowHtml(flow),
      funnelDays: FUNNEL_DAYS,
      isEmpty: columns.every(({ count }) => count === 0),
      fault: refused?.fault ?? null,
      asking: refused?.asking ?? null,
    });
  }

  app.get('/pipeline', (request, reply) => board(request, reply, null));

  app.post<{ Params: { id: string } }>('/pipeline/:id/stage', async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    const { lead } = await requireLead(store, memberOf(request).tenant.id, id);
    try {
      const move = checked(moveInputSchema, {
        stage: text(form, 'stage'),
        reason: text(form, 'reason'),
        expected_stage: text(form, 'expected_stage') || null,
        reopen: ticked(form, 'reopen'),
      });
      const { isChanged } = await moveLead(deps, leadCallerOf(request), { id, move });
      return reply.redirect(`/dashboard/pipeline?done=${isChanged ? 'moved' : 'in-stage'}#${id}`, 303);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const lacksReason = error.extra.errors?.some(({ pointer }) => pointer === '/reason') ?? false;
      const headlines = await headlinesOf(store, [lead]);
      const asking = lacksReason ? { lead, name: nameOf(lead, headlines.get(id)) } : null;
      return board(request, reply, { fault: error.message, asking });
    }
  });
}

function cardOf(lead: Lead, headline: string, now: number) {
  const name = nameOf(lead, headline);
  return {
    lead,
    name,
    headline: headline === name ? '' : headline,
    days: Math.max(0, Math.floor((now - fromIso(lead.stage_changed_at)) / DAY_MS)),
    isClosed: dealStatusIn(lead.stage) !== 'open',
    owner: lead.owner.split('@', 1)[0] ?? '',
  };
}

/** The furthest stage that leads have reached, and the average time in each stage. */
function flowHtml({ furthest, stayed }: StageFlow): string {
  const reached = (stage: Stage) =>
    STEPS.slice(STEPS.indexOf(stage)).reduce((sum, later) => sum + (furthest[later] ?? 0), 0);
  const steps = STEPS.map((stage) => {
    const days = stayed[stage] === undefined ? '–' : (stayed[stage] / DAY_MS).toFixed(1);
    return {
      name: stage.charAt(0).toUpperCase() + stage.slice(1),
      count: reached(stage),
      cells: [stage === 'won' ? '–' : days],
    };
  });
  return funnelHtml('Leads by the furthest stage reached', steps, { heads: ['Average days'] });
}
