import type { LeadChange, LeadStore } from '../lead-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createEventWriter } from './events.ts';
import type { FindKnownSignal } from './known-signals.ts';
import { createLeadRow, createLeadSignals } from './lead-rows.ts';
import type { SignalStatements, SignalWriter } from './signals.ts';

export function leadChanges(
  ask: Asks<SignalStatements>,
  { findKnown, writeSignal }: { findKnown: FindKnownSignal; writeSignal: SignalWriter },
) {
  const leadRow = createLeadRow(ask);
  const leadSignals = createLeadSignals(ask);
  const insertRouted = createEventWriter(ask);

  /** Whether everything that the change was based on is still true. Checked before anything is written. */
  function* holds({
    tenantId,
    lead,
    expectedVersion,
    seen,
    newSignals,
    attach,
  }: LeadChange): Script<boolean> {
    const holders = yield* ask.leads.findIdentities(
      tenantId,
      seen.map(({ key }) => key),
    );
    const stored = yield* ask.leads.getLead(tenantId, lead.id);
    if ((stored?.version ?? 0) !== expectedVersion) return false;
    if (seen.some(({ leadId }, index) => holders[index]?.leadId !== leadId)) return false;
    for (const signal of newSignals) if ((yield* findKnown(signal)) !== null) return false;
    for (const signalId of attach) if (!(yield* leadSignals.isFree(tenantId, signalId))) return false;
    return true;
  }

  return {
    *countEnrichment(day, limit) {
      yield* ask.leads.forgetDays(day);
      return yield* ask.leads.countDay({ day, limit });
    },
    *commitLead(change) {
      if (!(yield* holds(change))) return false;
      const { tenantId, lead, keys, newSignals, attach, move, events } = change;
      for (const each of newSignals) yield* writeSignal(each);
      if (change.expectedVersion === 0) yield* leadRow.insert(tenantId, lead);
      else yield* leadRow.update(lead);
      if (keys !== null) yield* leadRow.setIdentities(tenantId, lead.id, keys);
      yield* leadRow.setTags(tenantId, lead);
      yield* leadRow.setWords(tenantId, lead);
      for (const id of [...newSignals.map((signal) => signal.id), ...attach])
        yield* leadSignals.attach(lead.id, id);
      if (move !== null) {
        const { actor, ...columns } = move;
        yield* ask.leads.insertMove({
          ...columns,
          leadId: lead.id,
          actorId: actor.id,
          actorName: actor.name,
        });
      }
      for (const each of events) yield* insertRouted(each);
      return true;
    },
  } satisfies Scripts<LeadStore>;
}
