import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import { ERASED_DATA } from '../model/constants.ts';
import type { EventRow } from '../model/event.ts';
import type { DigestData } from '../model/event-resource.ts';
import { EventRefusal, MCP_EVENTS, type McpEventArguments, type McpEventName } from '../model/mcp.ts';
import type { Signal } from '../model/signal.ts';
import type { Store } from '../store/store.ts';
import { type Occurrence, occurrenceData } from './mcp-body.ts';
import { fits, type SignalFacts, signalsOfLead } from './state-changes.ts';

/** How far back polling reaches. */
const REACH_MS = 7 * DAY_MS;
const POLL_AGAIN_MS = 15_000;

/** Which occurrences a client asks for. */
export interface PollRequest {
  name: McpEventName;
  arguments: McpEventArguments;
  /** Null: from now on. */
  cursor: string | null;
  limit: number;
}

export interface PollAnswer {
  events: Occurrence[];
  cursor: string;
  /** Whether the cursor was older than what is kept, so that some were passed by. */
  truncated: boolean;
  hasMore: boolean;
  nextPollMs: number;
}

/** What happened since a cursor, in the order of commit. @throws EventRefusal where the cursor is of another request */
export async function pollOccurrences(
  { store, clock, cursors }: { store: Store; clock: Clock; cursors: Cursors },
  tenantId: string,
  { name, arguments: args, cursor, limit }: PollRequest,
): Promise<PollAnswer> {
  const scope = JSON.stringify(['mcp events', tenantId, name, args]);
  const now = clock.now();
  const answer = (position: number, rest: Partial<PollAnswer> = {}): PollAnswer => ({
    ...{ events: [], cursor: cursors.encode(scope, [position, now]), truncated: false, hasMore: false },
    ...{ nextPollMs: rest.hasMore ? 0 : POLL_AGAIN_MS, ...rest },
  });
  if (cursor === null) return answer(await store.storedPosition(tenantId));
  const [position, at] = (cursors.decode(scope, cursor) as [number, number] | null) ?? [];
  if (position === undefined || at === undefined) {
    const detail =
      'The cursor is damaged, or was made for another event, other arguments or another account.';
    throw new EventRefusal('InvalidParams', detail, { field: 'cursor' });
  }
  const page = await store.listStoredEvents(tenantId, {
    ...{ types: [MCP_EVENTS[name].type], from: now - REACH_MS, to: null },
    ...{ limit, after: [position] },
  });
  const next = Number(page.next[0]);
  const events: Occurrence[] = [];
  for (const row of page.rows) {
    const occurrence = await occurrenceOf(store, row, { name, args });
    if (occurrence !== null) events.push({ ...occurrence, cursor: null });
  }
  return answer(next, { events, truncated: at < now - REACH_MS, hasMore: page.hasMore });
}

/** The occurrence, or null where it does not fit the arguments, or was erased. */
async function occurrenceOf(
  store: Store,
  event: EventRow,
  { name, args }: { name: McpEventName; args: McpEventArguments },
): Promise<Omit<Occurrence, 'cursor'> | null> {
  if (event.data === ERASED_DATA) return null;
  const ofSignal = event.type === 'signal.detected' || event.type === 'signal.new_hot';
  const signal = ofSignal ? await findSignal(store, event) : null;
  if (ofSignal && signal === null) return null;
  const isFiltered = args.icp_profile_id !== undefined || (args.min_score ?? 0) > 0;
  if (isFiltered && !fits(signal ? [signal] : await signalsOf(store, event), args)) return null;
  const data: unknown = JSON.parse(occurrenceData(event, signal));
  return { eventId: event.id, name, timestamp: toIso(event.createdAt), data };
}

async function findSignal(store: Store, { tenantId, subjectId }: EventRow): Promise<Signal | null> {
  const found = await store.getSignal(tenantId, subjectId);
  return found === null ? null : JSON.parse(found.wire);
}

/** The signals that a lead has, or a digest lists, as they are now. */
async function signalsOf(
  store: Store,
  { tenantId, type, subjectId, data }: EventRow,
): Promise<SignalFacts[]> {
  if (type !== 'digest.ready') return signalsOfLead(store, subjectId);
  const { signals }: DigestData = JSON.parse(data);
  const ids = signals.map(({ signal_id }) => signal_id);
  return (await store.findLeadSignals(tenantId, ids)).map(({ wire }) => JSON.parse(wire));
}
