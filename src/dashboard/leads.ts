import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { readSettings } from '../accounts/settings.ts';
import { changeLead } from '../leads/change-lead.ts';
import { requireLead } from '../leads/changes.ts';
import { eraseLead } from '../leads/erase-lead.ts';
import { nameOf, namesOf } from '../leads/lead-names.ts';
import { moveLead, setDeal } from '../leads/move-lead.ts';
import { DAY_MS } from '../lib/clock.ts';
import { parseInTurns } from '../lib/json.ts';
import { CLASSIFICATIONS, STAGES } from '../model/constants.ts';
import {
  DEPARTMENTS,
  FACT_FIELDS,
  type FactField,
  type FactSource,
  type Lead,
  leadFilters,
  leadPatchSchema,
  SENIORITIES,
  SHOWN_SIGNALS,
} from '../model/lead.ts';
import { dealInputSchema, moveInputSchema } from '../model/pipeline.ts';
import type { ExplainedSignal } from '../model/signal.ts';
import { dateIn } from '../rules/digest-time.ts';
import { platformName } from '../signals/why.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  type FormFaults,
  faultsOf,
  filtersOf,
  formOf,
  isFiltered,
  kept,
  LARGE_FORM,
  lines,
  linesOfMembers,
  memberOfLine,
  queryOf,
  text,
  ticked,
} from './forms.ts';
import { checked, leadCallerOf, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';
import { signalCard } from './signal-card.ts';

/** `/dashboard/leads`: all leads, with filters and search. */
export function addLeads(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/leads', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(leadFilters, query);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'leads',
      filters,
      read: (place) => deps.store.listLeads(tenant.id, { ...filters, ...place }),
    });
    const leads = await parseInTurns<Lead>(page.rows);
    return show(request, reply, {
      template: 'leads',
      title: 'Leads',
      ...pages,
      filterFaults,
      leads,
      chosen: filters,
      tag: text(query, 'tag'),
      stages: STAGES,
      classes: CLASSIFICATIONS,
      money,
      nameOf: await namesOf(deps.store, leads),
      isFiltered: isFiltered(query),
      filters: kept(new URLSearchParams(query as Record<string, string>)),
    });
  });
}

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

/** One lead: each fact with its source, signals and history; changing its stage, its deal, and erasing the person. */
export function addLeadScreen(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const showLead = leadScreen(deps, show);
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
      const { isChanged } = await moveLead(deps, leadCallerOf(request), { id, move });
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
      await setDeal(deps, leadCallerOf(request), { id, deal });
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
        // A due date without a text is rejected, not dropped.
        next_step: step === '' && due_date === null ? null : { text: step, due_date },
      });
      await changeLead(deps, leadCallerOf(request), { id, patch });
    } catch (error) {
      return showLead(request, reply, id, { status: 400, followFaults: faultsOf(error), form });
    }
    return reply.redirect(`${addressOf(id)}?done=saved`, 303);
  });

  // Posted from Today, where the displayed step may be outdated: then nothing is changed.
  app.post<Params>('/leads/:id/step', async (request, reply) => {
    const { tenant } = memberOf(request);
    const { id } = request.params;
    const form = formOf(request);
    const { next_step: step } = (await requireLead(deps.store, tenant.id, id)).lead;
    if (step === null || step.text !== text(form, 'step') || step.due_date !== text(form, 'due_date'))
      return reply.redirect('/dashboard?done=step-changed', 303);
    const days = /^[1-9]\d?$/.exec(text(form, 'act'))?.[0];
    const { timezone } = await readSettings(deps, tenant.id);
    const due_date = dateIn(timezone, deps.clock.now() + Number(days ?? 0) * DAY_MS);
    const patch = checked(leadPatchSchema, { next_step: days === undefined ? null : { ...step, due_date } });
    await changeLead(deps, leadCallerOf(request), { id, patch });
    return reply.redirect(`/dashboard?done=${days === undefined ? 'step-done' : 'step-moved'}`, 303);
  });

  app.get<Params>('/leads/:id/erase', { config: { onlyToChange: true } }, async (request, reply) => {
    const { lead } = await requireLead(deps.store, memberOf(request).tenant.id, request.params.id);
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
    await eraseLead(deps, memberOf(request).tenant.id, request.params.id);
    return reply.redirect('/dashboard/leads?done=deleted', 303);
  });
}

interface LeadScreenState {
  status?: number;
  moveFaults?: FormFaults;
  dealFaults?: FormFaults;
  followFaults?: FormFaults;
  /** The submitted values. */
  form?: Form;
}

function leadScreen({ store }: DashboardDeps, show: Show) {
  return async (request: FastifyRequest, reply: FastifyReply, id: string, state: LeadScreenState = {}) => {
    const { lead } = await requireLead(store, memberOf(request).tenant.id, id);
    const [signals, moves, members] = await Promise.all([
      store.listSignalsOfLead(id, SHOWN_SIGNALS),
      store.pageStageMoves(id, { after: null, limit: MOST_MOVES }),
      store.listMembers(memberOf(request).tenant.id),
    ]);
    const { status = 200, moveFaults = {}, dealFaults = {}, followFaults = {}, form = {} } = state;
    const posts = signals.map((wire) => signalCard(JSON.parse(wire) as ExplainedSignal));
    const { deal, next_step: step } = lead;
    const typed = (name: string, stored: string) => (name in form ? text(form, name) : stored);
    return show(request, reply, {
      template: 'lead',
      title: nameOf(lead, posts[0]?.headline),
      status,
      lead,
      source: platformName(lead.source),
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

/** The known facts of a lead, with their sources. */
function factsOf(lead: Lead) {
  // First and last name are left out if they only repeat the full name.
  const isWhole = lead.name === `${lead.first_name} ${lead.last_name}`;
  return FACT_FIELDS.map((field) => {
    const from = lead.provenance[field] ?? null;
    return { field, value: factOf(lead, field), from, origin: from && ORIGIN_WORDS[from.source] };
  }).filter(({ field, value }) => value !== '' && !(isWhole && IN_NAME.has(field)));
}

const IN_NAME: ReadonlySet<string> = new Set(['first_name', 'last_name']);

function factOf(lead: Lead, field: FactField): string {
  const [, member] = field.split('.');
  if (member === undefined) return lead[field as Exclude<FactField, `company.${string}`>];
  return lead.company[member as keyof Lead['company']];
}

function addressOf(id: string): string {
  return `/dashboard/leads/${encodeURIComponent(id)}`;
}

const PERSON = ['name', 'first_name', 'last_name', 'email', 'linkedin_url', 'title'] as const;
const COMPANY = ['name', 'domain', 'industry', 'headcount', 'location'] as const;
const CHOICES = ['seniority', 'department'] as const;

/** Edits the facts, tags and custom fields of a lead. Cleared fields become unknown. */
export function addLeadEdit(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const path = '/leads/:id/edit';
  async function screen(request: FastifyRequest, reply: FastifyReply, id: string, shown: ShownForm = {}) {
    const { lead } = await requireLead(deps.store, memberOf(request).tenant.id, id);
    return show(request, reply, {
      template: 'lead-edit',
      title: `Edit ${nameOf(lead)}`,
      name: nameOf(lead),
      id,
      form: formOfLead(lead),
      faults: {},
      person: PERSON,
      company: COMPANY,
      seniorities: SENIORITIES,
      departments: DEPARTMENTS,
      ...shown,
    });
  }
  app.get<Params>(path, { config: { onlyToChange: true } }, (request, reply) =>
    screen(request, reply, request.params.id),
  );
  app.post<Params>(path, LARGE_FORM, async (request, reply) => {
    const { id } = request.params;
    const form = formOf(request);
    const { lead } = await requireLead(deps.store, memberOf(request).tenant.id, id);
    try {
      const patch = checked(leadPatchSchema, patchOf(form, lead));
      await changeLead(deps, leadCallerOf(request), { id, patch });
    } catch (error) {
      return screen(request, reply, id, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard/leads/${encodeURIComponent(id)}?done=saved`, 303);
  });
}

interface ShownForm {
  form?: Form;
  faults?: FormFaults;
  status?: number;
}

function formOfLead(lead: Lead): Form {
  const form: Form = {
    source: lead.source,
    tags: lead.tags.join(', '),
    custom_fields: linesOfMembers(lead.custom_fields),
  };
  for (const name of [...PERSON, ...CHOICES]) form[name] = lead[name];
  for (const name of COMPANY) form[`company_${name}`] = lead.company[name];
  return form;
}

/** Only the changed fields: saving an unchanged, inferred fact must not mark it as set by hand. */
function patchOf(form: Form, lead: Lead): unknown {
  const before = formOfLead(lead);
  const isChanged = (name: string) => text(form, name).trim() !== text(before, name);
  const patch: Record<string, unknown> = {};
  for (const name of [...PERSON, ...CHOICES, 'source']) {
    if (isChanged(name)) patch[name] = text(form, name);
  }
  const company = COMPANY.filter((name) => isChanged(`company_${name}`));
  if (company.length > 0) {
    patch.company = Object.fromEntries(company.map((name) => [name, text(form, `company_${name}`)]));
  }
  if (isChanged('tags')) {
    patch.tags = text(form, 'tags')
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
  }
  const members = Object.fromEntries(lines(form, 'custom_fields').map(memberOfLine));
  const gone = Object.keys(lead.custom_fields).filter((name) => !Object.hasOwn(members, name));
  if (linesOfMembers(members) !== before.custom_fields) {
    patch.custom_fields = { ...members, ...Object.fromEntries(gone.map((name) => [name, null])) };
  }
  return patch;
}

/** Creating a formatter takes 50 us, and a board of leads shows a hundred amounts. */
const formats = new LRUCache<string, Intl.NumberFormat>({ max: 100 });

function formatOf(currency: string, isWhole: boolean): Intl.NumberFormat {
  const key = `${currency} ${isWhole}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat('en', {
    ...{ style: 'currency', currency, currencyDisplay: 'code' },
    ...(isWhole ? { minimumFractionDigits: 0, maximumFractionDigits: 0 } : {}),
  });
  formats.set(key, format);
  return format;
}

/** Formats an amount in the smallest unit of a currency: 129900 USD is "USD 1,299". */
export function money(amountMinor: number, currency: string): string {
  const digits = digitsOf(currency);
  const shown = formatOf(currency, amountMinor % 10 ** digits === 0);
  return shown.format(amountMinor / 10 ** digits).replace(/\s/gu, ' ');
}

/** An amount as a form field shows it, such as "1299.50". */
export function plainAmount(amountMinor: number, currency: string): string {
  const digits = digitsOf(currency);
  return (amountMinor / 10 ** digits).toFixed(digits);
}

/**
 * Converts an amount typed in whole units to the smallest unit; text that is not an amount of that currency is
 * returned as is.
 */
function minorAmount(typed: string, currency: string): number | string {
  const plain = typed.trim().replaceAll(/[,\s]/g, '');
  const [, whole = '', part = ''] = /^(\d{1,12})(?:\.(\d{1,4}))?$/.exec(plain) ?? [];
  if (whole === '' || !/^[A-Za-z]{3}$/.test(currency)) return typed;
  const digits = digitsOf(currency);
  if (part.length > digits) return typed;
  return Number(whole) * 10 ** digits + Number(part.padEnd(digits, '0') || 0);
}

function digitsOf(currency: string): number {
  return formatOf(currency, false).resolvedOptions().maximumFractionDigits ?? 2;
}
