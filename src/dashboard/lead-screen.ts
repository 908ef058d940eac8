import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readSettings } from '../accounts/settings.ts';
import { changeLead } from '../leads/change-lead.ts';
import { requireLead } from '../leads/changes.ts';
import { eraseLead } from '../leads/erase-lead.ts';
import { nameOf } from '../leads/lead-names.ts';
import { moveLead, setDeal } from '../leads/move-lead.ts';
import { DAY_MS } from '../lib/clock.ts';
import { STAGES } from '../model/constants.ts';
import {
  FACT_FIELDS,
  type FactField,
  type FactSource,
  type Lead,
  leadPatchSchema,
  SHOWN_SIGNALS,
} from '../model/lead.ts';
import { dealInputSchema, moveInputSchema } from '../model/pipeline.ts';
import { dateIn } from '../rules/digest-time.ts';
import { type Form, type FormFaults, faultsOf, formOf, text, ticked } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked, leadCallerOf } from './members.ts';
import { minorAmount, money, plainAmount } from './money.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { type ExplainedSignal, shownSignal } from './shown-signal.ts';

const MOST_MOVES = 50;
const CLOSED = ['won', 'lost'];

const ORIGIN_WORDS: Record<FactSource, string> = {
  request: 'entered manually or through the API',
  signal: 'from the post',
  email: 'from the email address',
  name: 'from the name',
  title: 'from the job title',
  company: 'from company data',
  provider: 'from the enrichment provider',
};

type Params = { Params: { id: string } };

/** One lead: each fact with its source, its signals and history; moving it, its deal, and erasing the person. */
export function addLeadScreen(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const showLead = leadScreen(parts, show);
  app.get<Params>('/leads/:id', (request, reply) => showLead(request, reply, request.params.id));

  app.post<Params>('/leads/:id/stage', async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    let done = 'moved';
    try {
      const move = checked(moveInputSchema, {
        stage: text(form, 'stage'),
        reason: text(form, 'reason'),
        expected_stage: text(form, 'expected_stage') || null,
        reopen: ticked(form, 'reopen'),
      });
      const { isChanged } = await moveLead(parts, leadCallerOf(request), { id, move });
      if (!isChanged) done = 'in-stage';
    } catch (error) {
      return showLead(request, reply, id, { status: 400, moveFaults: faultsOf(error), form });
    }
    return reply.redirect(`${addressOf(id)}?done=${done}`, 303);
  });

  app.post<Params>('/leads/:id/deal', async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    try {
      const deal = checked(dealInputSchema, {
        amount_minor: minorAmount(text(form, 'amount_minor'), text(form, 'currency').trim()),
        currency: text(form, 'currency'),
        close_date: text(form, 'close_date') || null,
      });
      await setDeal(parts, leadCallerOf(request), { id, deal });
    } catch (error) {
      return showLead(request, reply, id, { status: 400, dealFaults: faultsOf(error), form });
    }
    return reply.redirect(`${addressOf(id)}?done=saved`, 303);
  });

  app.post<Params>('/leads/:id/follow-up', async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    const step = text(form, 'step').trim();
    const due_date = text(form, 'due_date') || null;
    try {
      const patch = checked(leadPatchSchema, {
        owner: text(form, 'owner'),
        notes: text(form, 'notes'),
        // A date alone is a step without words: refused, and not dropped.
        next_step: step === '' && due_date === null ? null : { text: step, due_date },
      });
      await changeLead(parts, leadCallerOf(request), { id, patch });
    } catch (error) {
      return showLead(request, reply, id, { status: 400, followFaults: faultsOf(error), form });
    }
    return reply.redirect(`${addressOf(id)}?done=saved`, 303);
  });

  // From Today, where the step that is shown may be another by now: then nothing is changed.
  app.post<Params>('/leads/:id/step', async (request, reply) => {
    const { tenant } = memberOf(request);
    const { id } = request.params;
    const form = formOf(request);
    const { next_step: step } = (await requireLead(parts.store, tenant.id, id)).lead;
    if (step === null || step.text !== text(form, 'step') || step.due_date !== text(form, 'due_date'))
      return reply.redirect('/dashboard?done=step-changed', 303);
    const days = /^[1-9]\d?$/.exec(text(form, 'act'))?.[0];
    const { timezone } = await readSettings(parts, tenant.id);
    const due_date = dateIn(timezone, parts.clock.now() + Number(days ?? 0) * DAY_MS);
    const patch = checked(leadPatchSchema, { next_step: days === undefined ? null : { ...step, due_date } });
    await changeLead(parts, leadCallerOf(request), { id, patch });
    return reply.redirect(`/dashboard?done=${days === undefined ? 'step-done' : 'step-moved'}`, 303);
  });

  app.get<Params>('/leads/:id/erase', { config: { onlyToChange: true } }, async (request, reply) => {
    const { lead } = await requireLead(parts.store, memberOf(request).tenant.id, request.params.id);
    return show(request, reply, {
      template: 'confirm',
      title: `Erase ${nameOf(lead)}?`,
      detail:
        'This deletes the lead, removes the author, text and address from its signals, and discards undelivered events about this person. It cannot be undone.',
      action: `${addressOf(lead.id)}/erase`,
      button: 'Erase this person',
      back: addressOf(lead.id),
    });
  });

  app.post<Params>('/leads/:id/erase', async (request, reply) => {
    await eraseLead(parts, memberOf(request).tenant.id, request.params.id);
    return reply.redirect('/dashboard/leads?done=deleted', 303);
  });
}

interface Shown {
  status?: number;
  moveFaults?: FormFaults;
  dealFaults?: FormFaults;
  followFaults?: FormFaults;
  /** What was typed. */
  form?: Form;
}

function leadScreen({ store }: DashboardParts, show: Show) {
  return async (request: FastifyRequest, reply: FastifyReply, id: string, shown: Shown = {}) => {
    const { lead } = await requireLead(store, memberOf(request).tenant.id, id);
    const [signals, moves, members] = await Promise.all([
      store.listSignalsOfLead(id, SHOWN_SIGNALS),
      store.pageStageMoves(id, { after: null, limit: MOST_MOVES }),
      store.listMembers(memberOf(request).tenant.id),
    ]);
    const { status = 200, moveFaults = {}, dealFaults = {}, followFaults = {}, form = {} } = shown;
    const posts = signals.map((wire) => shownSignal(JSON.parse(wire) as ExplainedSignal));
    const { deal, next_step: step } = lead;
    const typed = (name: string, stored: string) => (name in form ? text(form, name) : stored);
    return show(request, reply, {
      template: 'lead',
      title: nameOf(lead, posts[0]?.headline),
      status,
      lead,
      facts: factsOf(lead),
      signals: posts,
      moves: moves.rows,
      stages: STAGES,
      isClosed: CLOSED.includes(lead.stage),
      moveFaults,
      dealFaults,
      followFaults,
      owners: [...new Set([lead.owner, ...members.map(({ email }) => email)])].filter(
        (email) => email !== '',
      ),
      typed: {
        owner: typed('owner', lead.owner),
        notes: typed('notes', lead.notes),
        step: typed('step', step?.text ?? ''),
        dueDate: typed('due_date', step?.due_date ?? ''),
        stage: text(form, 'stage') || lead.stage,
        reason: text(form, 'reason'),
        amount: text(form, 'amount_minor') || (deal ? plainAmount(deal.amount_minor, deal.currency) : ''),
        currency: text(form, 'currency') || (deal?.currency ?? ''),
        closeDate: text(form, 'close_date') || (deal?.close_date ?? ''),
      },
      money,
    });
  };
}

/** What is known of the lead, with where it came from. */
function factsOf(lead: Lead) {
  return FACT_FIELDS.map((field) => {
    const from = lead.provenance[field] ?? null;
    return { field, value: factOf(lead, field), from, origin: from && ORIGIN_WORDS[from.source] };
  }).filter(({ value }) => value !== '');
}

function factOf(lead: Lead, field: FactField): string {
  const [, member] = field.split('.');
  if (member === undefined) return lead[field as Exclude<FactField, `company.${string}`>];
  return lead.company[member as keyof Lead['company']];
}

function addressOf(id: string): string {
  return `/dashboard/leads/${encodeURIComponent(id)}`;
}
