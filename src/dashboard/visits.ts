import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../http/request-context.ts';
import { fromIso, toIso } from '../lib/clock.ts';
import { parseRows } from '../lib/json.ts';
import type { EventType } from '../model/event.ts';
import type { Position } from '../model/filters.ts';
import { type Signal, signalFilters } from '../model/signal.ts';
import type { Store } from '../store/store.ts';
import { cookieOptions } from './cookies.ts';

/** A visit ends where nothing is opened for so long. */
const VISIT_MS = 30 * 60_000;
const KEPT_SECONDS = 90 * 86_400;
/** Counted no further: "more than". */
const MOST_COUNTED = 100;
/** Where few of the signals fit, so many pages are looked through for them: "more than" what they hold. */
const MOST_PAGES = 5;

/** When a visit ended, Unix milliseconds, and the place in the order by commit at that moment. */
export interface Visit {
  at: number;
  position: number;
}

/**
 * The end of the visit before this one; null where it is not known. It is kept in the browser: a
 * convenience that no other device has to know, and that costs the store nothing.
 */
export function lastVisit(
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, now, baseUrl }: { userId: string; now: Visit; baseUrl: string },
): Visit | null {
  const secure = isHttps(baseUrl);
  const name = secure ? '__Host-signalpost-visit' : 'signalpost-visit';
  const [who, ...kept] = (request.cookies[name] ?? '').split('.');
  const known = who === userId && kept.length === 4 && kept.every((number) => /^\d{1,16}$/.test(number));
  const [beforeAt = 0, beforePosition = 0, seenAt = now.at, seenPosition = now.position] = known
    ? kept.map(Number)
    : [];
  const isNew = now.at - seenAt >= VISIT_MS;
  const previous = isNew
    ? { at: seenAt, position: seenPosition }
    : { at: beforeAt, position: beforePosition };
  const value = [userId, previous.at, previous.position, now.at, now.position].join('.');
  reply.setCookie(name, value, { ...cookieOptions(secure), maxAge: KEPT_SECONDS });
  return previous.at === 0 ? null : previous;
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
  ['reply.classified', 'new reply', 'new replies', '/dashboard/campaigns'],
  ['deal.changed', 'deal changed', 'deals changed', '/dashboard/pipeline'],
];

/** Signals that were stored after a visit, and from which time on their list has them all. */
async function signalsSince(store: Store, tenantId: string, since: Visit, classification: string) {
  const query = { ...signalFilters.of({ classification }), limit: MOST_COUNTED, explain: false };
  let found: Count = NONE;
  let from = since.at + 1;
  let after: Position = [since.position];
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await store.listStoredSignals(tenantId, { ...query, after });
    for (const { timestamp } of parseRows<Signal>(page.json)) from = Math.min(from, fromIso(timestamp));
    found = { count: Math.min(MOST_COUNTED, found.count + page.count), isMore: page.hasMore };
    after = page.next;
    if (!page.hasMore || found.count === MOST_COUNTED) break;
  }
  return { ...found, from: toIso(from) };
}

/** What has happened after `since`; only what has. */
export async function changesSince(store: Store, tenantId: string, since: Visit): Promise<Change[]> {
  const page = { limit: MOST_COUNTED, after: null };
  const start = since.at + 1;
  const signals = (classification: string) => signalsSince(store, tenantId, since, classification);
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
      path: `/dashboard/signals?state=all&classification=hot&from=${hot.from}`,
    },
    {
      ...all,
      one: 'signal in total',
      many: 'signals in total',
      path: `/dashboard/signals?state=all&from=${all.from}`,
    },
    ...TOLD.map(([, one, many, path], at) => ({ ...(told[at] ?? NONE), one, many, path })),
    {
      ...dead,
      one: 'dead letter',
      many: 'dead letters',
      path: `/dashboard/dead-letters?from=${toIso(start)}`,
    },
  ].filter(({ count }) => count > 0);
}

const NONE: Count = { count: 0, isMore: false };

function counted(count: number, last: unknown): Count {
  return { count, isMore: last !== null };
}
