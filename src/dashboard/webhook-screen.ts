import type { FastifyReply, FastifyRequest } from 'fastify';
import { DAY_MS, toIso } from '../lib/clock.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { AttemptDay } from '../store/delivery-log-store.ts';
import { deliveryResource } from '../webhooks/deliveries.ts';
import { expectedTest } from '../webhooks/test-delivery.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import { subjectsOf } from './delivery-subjects.ts';
import { PAUSE_WORDS } from './delivery-words.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { attemptsOf, attemptWords, DAYS_SHOWN, firstDay, hostOf, shownEndpoint } from './shown-endpoint.ts';
import { formOfSettings, WEBHOOK_CHOICES } from './webhook-form.ts';

const RECENT = 5;
const MOST_COUNTED = 1_000;

/** The screen of one endpoint; `shown` is what came of a form that was sent to it. */
export async function showWebhook(
  parts: DashboardParts,
  show: Show,
  {
    request,
    reply,
    endpoint,
    shown = {},
  }: { request: FastifyRequest; reply: FastifyReply; endpoint: Endpoint; shown?: Record<string, unknown> },
): Promise<FastifyReply> {
  const { tenant } = memberOf(request);
  const base = { eventType: null, eventId: null, from: null, to: null, after: null };
  const ofEndpoint = { ...base, endpointId: endpoint.id };
  const now = parts.clock.now();
  const [attempts, days, profiles, recent, held] = await Promise.all([
    attemptsOf(parts, tenant.id, endpoint.id),
    parts.store.tallyAttemptDays(tenant.id, { endpointId: endpoint.id, since: firstDay(now) }),
    parts.store.listProfiles(tenant.id),
    parts.store.listDeliveries(tenant.id, { ...ofEndpoint, status: null, limit: RECENT }),
    endpoint.status === 'paused' ? parts.store.countWaiting(endpoint.id, MOST_COUNTED + 1) : 0,
  ]);
  const subjects = await subjectsOf(
    parts.store,
    tenant.id,
    recent.rows.map(({ subjectId }) => subjectId),
  );
  const resource = shownEndpoint(endpoint);
  return show(request, reply, {
    template: 'webhook',
    title: resource.label || hostOf(resource.url),
    endpoint: resource,
    pauseWords: endpoint.pausedReason === null ? '' : PAUSE_WORDS[endpoint.pausedReason],
    held: { count: Math.min(held, MOST_COUNTED), isMore: held > MOST_COUNTED },
    attempts: attempts.get(endpoint.id) ?? null,
    attemptWords,
    attemptsHtml: days.length === 0 ? '' : attemptsChart(days, now),
    subjects,
    recent: recent.rows.map(deliveryResource),
    expected: expectedTest(parts, endpoint),
    choices: WEBHOOK_CHOICES,
    profiles,
    form: formOfSettings(endpoint.settings, endpoint),
    faults: {},
    preview: null,
    secret: null,
    isNew: false,
    test: null,
    fault: null,
    ...shown,
  });
}

function attemptsChart(tally: readonly AttemptDay[], now: number): string {
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => toIso(firstDay(now) + i * DAY_MS).slice(0, 10));
  const byDay = new Map(tally.map((each) => [each.day, each]));
  return chartHtml({
    title: 'Attempts',
    unit: `Attempts per day, ${spanLabel(days[0] ?? '', days.at(-1) ?? '')}, UTC`,
    along: 'Day',
    labels: days.map(dayLabel),
    series: [
      { name: 'Succeeded', look: 'good', values: days.map((day) => byDay.get(day)?.succeeded ?? 0) },
      { name: 'Failed', look: 'bad', values: days.map((day) => byDay.get(day)?.failed ?? 0) },
    ],
    kind: 'bars',
  });
}
