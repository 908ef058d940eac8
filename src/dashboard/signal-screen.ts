import type { FastifyReply, FastifyRequest } from 'fastify';
import { excerpt } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import type { Explanation, Signal } from '../model/signal.ts';
import { draftReply, firstNameOf, needOf, readReplyTemplate } from '../signals/triage.ts';
import { eventResource } from '../webhooks/deliveries.ts';
import { REASON_WORDS } from './delivery-words.ts';
import { memberOf } from './gate.ts';
import { highlight } from './highlight.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { hostOf, shownEndpoint } from './shown-endpoint.ts';
import { shownSignal } from './shown-signal.ts';

/** Events about a signal that its screen shows. */
const MOST_EVENTS = 10;

/** The screen of one signal: its text with the evidence marked, its points, and who was told. */
export async function showSignal(
  parts: DashboardParts,
  show: Show,
  {
    request,
    reply,
    id,
    fault = null,
  }: { request: FastifyRequest; reply: FastifyReply; id: string; fault?: string | null },
): Promise<FastifyReply> {
  const { tenant } = memberOf(request);
  const found = await parts.store.getSignal(tenant.id, id);
  if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${id}".`);
  const signal: Signal = JSON.parse(found.wire);
  const explanation: Explanation = JSON.parse(found.explanation);
  const { domain } = signal.company;
  const [feedback, events, endpoints, company, [triage], members, template, profile] = await Promise.all([
    parts.store.getFeedback(tenant.id, id),
    parts.store.listEventsAbout(tenant.id, id, MOST_EVENTS),
    parts.store.listEndpoints(tenant.id),
    domain === '' ? null : parts.store.findCompany(tenant.id, { domain: domain.toLowerCase() }),
    parts.store.listTriage(tenant.id, [id]),
    parts.store.listMembers(tenant.id),
    readReplyTemplate(parts.store, tenant.id),
    parts.store.getProfile(tenant.id, signal.icp_profile_id),
  ]);
  const names = new Map(
    endpoints.map(shownEndpoint).map((endpoint) => [endpoint.id, endpoint.label || hostOf(endpoint.url)]),
  );
  const shown = shownSignal({ ...signal, explanation }, found.text);
  const reasons = [...explanation.factors, ...explanation.negatives];
  const evidence = reasons.flatMap((factor) => factor.evidence.filter(({ field }) => field === 'text'));
  return show(request, reply, {
    template: 'signal',
    title: excerpt(shown.headline, 55),
    status: fault === null ? 200 : 400,
    fault,
    signal: shown,
    explanation,
    factors: reasons.filter(({ points, max }) => points !== 0 || max !== 0),
    pieces: highlight(found.text, evidence),
    feedback,
    triage,
    members: members.map(({ email }) => email),
    now: parts.clock.now(),
    draft: draftReply(template, {
      first_name: firstNameOf(signal.prospect.name),
      need: needOf(shown.why),
      headline: shown.headline,
      community: shown.where,
      offer: profile?.offer ?? '',
      sender: tenant.name,
    }),
    company,
    events: events.map((event) => eventResource(event, endpoints, parts.clock.now())),
    nameOf: (endpointId: string) => names.get(endpointId) ?? endpointId,
    reasonWords: REASON_WORDS,
  });
}
