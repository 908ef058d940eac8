import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../http/request-context.ts';
import { toIso } from '../lib/clock.ts';
import type { EventType } from '../model/event.ts';
import type { Store } from '../store/store.ts';
import { cookieOptions } from './cookies.ts';
import { filtersOf } from './signals.ts';

/** A visit ends where nothing is opened for so long. */
const VISIT_MS = 30 * 60_000;
const KEPT_SECONDS = 90 * 86_400;
/** Counted no further: "more than". */
const MOST_COUNTED = 100;

/**
 * When the visit before this one ended, Unix milliseconds; null where it is not known. It is kept in the browser: a
 * convenience that no other device has to know, and that costs the store nothing.
 */
export function lastVisit(
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, now, baseUrl }: { userId: string; now: number; baseUrl: string },
): number | null {
  const secure = isHttps(baseUrl);
  const name = secure ? '__Host-signalpost-visit' : 'signalpost-visit';
  const [who, before, seen] = (request.cookies[name] ?? '').split('.');
  const known = who === userId && /^\d{1,15}$/.test(`${before}`) && /^\d{1,15}$/.test(`${seen}`);
  const lastSeen = known ? Number(seen) : now;
  const isNew = now - lastSeen >= VISIT_MS;
  const previous = isNew ? lastSeen : known ? Number(before) : 0;
  reply.setCookie(name, `${userId}.${previous}.${now}`, { ...cookieOptions(secure), maxAge: KEPT_SECONDS });
  return previous === 0 ? null : previous;
}

/** A count that stops somewhere. */
export interface Count {
  count: number;
  isMore: boolean;
}

/** What has happened since a moment, each with the address of its list. */
export interface Change extends Count {
  one: string;
  many: string;
  path: string;
}

const TOLD: [type: EventType, one: string, many: string, path: string][] = [
  ['pipeline.stage_changed', 'lead moved', 'leads moved', '/dashboard/pipeline'],
  ['reply.classified', 'reply came', 'replies came', '/dashboard/campaigns'],
  ['deal.changed', 'deal changed', 'deals changed', '/dashboard/pipeline'],
];

/** What has happened after `since`; only what has. */
export async function changesSince(store: Store, tenantId: string, since: number): Promise<Change[]> {
  const page = { limit: MOST_COUNTED, after: null };
  const start = since + 1;
  const from = toIso(start);
  const signals = (classification: string) =>
    store
      .listSignals(tenantId, { ...filtersOf({ classification }), from: start, ...page, explain: false })
      .then(({ json, last }) =>
        counted((JSON.parse(`[${json.toString('utf8')}]`) as unknown[]).length, last),
      );
  const [hot, all, dead, ...told] = await Promise.all([
    signals('hot'),
    signals(''),
    store
      .listDeliveries(tenantId, {
        ...{ endpointId: null, status: 'dead', eventType: null, eventId: null, from: start, to: null },
        ...page,
      })
      .then(({ rows, last }) => counted(rows.length, last)),
    ...TOLD.map(([type]) =>
      store
        .listEvents(tenantId, { types: [type], from: start, to: null, ...page })
        .then(({ rows, last }) => counted(rows.length, last)),
    ),
  ]);
  return [
    {
      ...hot,
      one: 'hot signal',
      many: 'hot signals',
      path: `/dashboard/signals?classification=hot&from=${from}`,
    },
    { ...all, one: 'signal in all', many: 'signals in all', path: `/dashboard/signals?from=${from}` },
    ...TOLD.map(([, one, many, path], at) => ({ ...(told[at] ?? NONE), one, many, path })),
    { ...dead, one: 'dead letter', many: 'dead letters', path: `/dashboard/dead-letters?from=${from}` },
  ].filter(({ count }) => count > 0);
}

const NONE: Count = { count: 0, isMore: false };

function counted(count: number, last: unknown): Count {
  return { count, isMore: last !== null };
}
