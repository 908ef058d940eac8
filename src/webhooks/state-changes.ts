import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { EventType, RoutedEvent } from '../model/event.ts';
import type { McpEventArguments } from '../model/mcp.ts';
import type { Signal } from '../model/signal.ts';
import type { AccountStore } from '../store/account-store.ts';
import type { EndpointStore, Receiver } from '../store/endpoint-store.ts';
import type { LeadStore } from '../store/lead-store.ts';
import { createEnvelopes } from './envelopes.ts';
import { fanOut } from './fan-out.ts';
import type { Notice } from './presets/notice.ts';
import { listReceivers } from './receivers.ts';

/** Something that changed and whom it is about; `data` holds `previous` and `current` where a state changed. */
export interface StateChange {
  type: Exclude<EventType, 'signal.detected' | 'signal.new_hot'>;
  subjectId: string;
  data: Record<string, unknown>;
  /** The endpoint that it is about, and that is not sent it. */
  notTo?: string;
  /** What messages say of it; left out: what its data comes to. */
  notice?: Notice;
  /** The signals that it is about, by which MCP clients filter events; read only where one does. */
  signals?(): Promise<readonly SignalFacts[]> | readonly SignalFacts[];
}

/** What of a signal subscriptions are filtered by. */
export type SignalFacts = Pick<Signal, 'icp_profile_id' | 'icp_score'>;

export interface RouteParts {
  store: EndpointStore & Pick<AccountStore, 'getTenant'>;
  clock: Clock;
  newId: NewId;
  /** What is being traced as the change is made, as `joinTrace` writes it; null or left out: nothing. */
  trace?: string | null;
}

/** The events of a change with their deliveries, to be committed together with the change itself. */
export async function routeChanges(
  { store, clock, newId, trace = null }: RouteParts,
  tenantId: string,
  changes: readonly StateChange[],
): Promise<RoutedEvent[]> {
  if (changes.length === 0) return [];
  const receivers = await listReceivers({ store, clock }, tenantId);
  const createdAt = clock.now();
  const routed: RoutedEvent[] = [];
  for (const change of changes) {
    const { type, subjectId, data, notTo = null, notice } = change;
    const event = {
      id: newId('evt'),
      tenantId,
      type,
      subjectId,
      data: JSON.stringify(data),
      createdAt,
      trace,
    };
    const fitting = await fittingReceivers(receivers, change);
    routed.push(fanOut(event, createEnvelopes(event, notice), fitting, newId, null, { notTo }));
  }
  return routed;
}

/** All but the subscriptions of MCP clients whose arguments fit none of the signals that a change is about. */
async function fittingReceivers(
  receivers: readonly Receiver[],
  { type, signals = () => [] }: StateChange,
): Promise<readonly Receiver[]> {
  const isFiltered = ({ mode, settings }: Receiver) =>
    mode === 'mcp' &&
    settings.event_types.includes(type) &&
    (settings.min_score > 0 || settings.icp_profile_ids.length > 0);
  if (!receivers.some(isFiltered)) return receivers;
  const facts = await signals();
  return receivers.filter((receiver) => {
    const { icp_profile_ids, min_score } = receiver.settings;
    return !isFiltered(receiver) || fits(facts, { icp_profile_id: icp_profile_ids[0], min_score });
  });
}

/** Whether one of the signals is of the profile, where one is named, and has the score. */
export function fits(
  signals: readonly SignalFacts[],
  { icp_profile_id: profile, min_score: least = 0 }: McpEventArguments,
): boolean {
  return signals.some(
    ({ icp_profile_id, icp_score }) =>
      (profile === undefined || icp_profile_id === profile) && icp_score >= least,
  );
}

/** More signals than a lead has whose best ones say too little of it. */
const SIGNALS_LOOKED_AT = 100;

/** The signals of a stored lead that it is judged by. */
export async function signalsOfLead(
  store: Pick<LeadStore, 'listSignalsOfLead'>,
  leadId: string,
): Promise<SignalFacts[]> {
  return (await store.listSignalsOfLead(leadId, SIGNALS_LOOKED_AT)).map((wire) => JSON.parse(wire));
}
