import type { FastifyInstance } from 'fastify';
import { addLead } from '../leads/add-lead.ts';
import { CLASSIFICATIONS } from '../model/constants.ts';
import { leadInputSchema } from '../model/lead.ts';
import { SIGNAL_TYPES, signalFilters } from '../model/signal.ts';
import { giveFeedback } from '../signals/feedback.ts';
import { filtersOf, isFiltered } from './filters.ts';
import { type Form, faultsOf, formOf, queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { shownSignals } from './shown-signal.ts';
import { showSignal } from './signal-screen.ts';

/** The feed of signals, one signal, and what a person says or makes of it. */
export function addSignals(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get('/signals', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(signalFilters, query);
    const [{ page, ...pages }, profiles] = await Promise.all([
      readScreenPage(parts, request, {
        name: 'signals',
        filters,
        read: (place) => parts.store.listSignals(tenant.id, { ...filters, ...place, explain: true }),
      }),
      parts.store.listProfiles(tenant.id),
    ]);
    return show(request, reply, {
      template: 'signals',
      title: 'Signals',
      ...pages,
      query,
      isFiltered: isFiltered(query),
      signals: shownSignals(page.json),
      filterFaults,
      profiles,
      classifications: CLASSIFICATIONS,
      signalTypes: SIGNAL_TYPES,
    });
  });

  app.get<{ Params: { id: string } }>('/signals/:id', (request, reply) =>
    showSignal(parts, show, { request, reply, id: request.params.id }),
  );

  app.post<{ Params: { id: string } }>('/signals/:id/feedback', async (request, reply) => {
    const { tenant, user } = memberOf(request);
    const { id } = request.params;
    const form = formOf(request);
    const said = { signalId: id, relevant: text(form, 'relevant') === 'yes', reason: reasonOf(form) };
    await giveFeedback(parts, { tenantId: tenant.id, actorId: user.id }, said);
    const isExample = text(form, 'from') === 'start';
    return reply.redirect(isExample ? `/dashboard/start#${id}` : `/dashboard/signals/${id}?done=thanks`, 303);
  });

  app.post<{ Params: { id: string } }>('/signals/:id/lead', async (request, reply) => {
    const { tenant, user } = memberOf(request);
    const { id } = request.params;
    try {
      const caller = { tenantId: tenant.id, actor: { id: user.id, name: user.email } };
      await addLead(parts, caller, checked(leadInputSchema, { signal_ids: [id] }));
      return reply.redirect(`/dashboard/signals/${id}?done=added`, 303);
    } catch (error) {
      const faults = faultsOf(error);
      return showSignal(parts, show, { request, reply, id, fault: Object.values(faults).join(' ') });
    }
  });
}

function reasonOf(form: Form): string {
  return text(form, 'reason').trim().slice(0, 1_000);
}
