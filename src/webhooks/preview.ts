import { effectivePlan } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { PayloadFormat } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { refuseFormat } from './endpoint-rules.ts';
import { formattedPayload } from './format.ts';
import { SAMPLE_SIGNAL } from './sample-signal.ts';

/** Bodies in a preview of recent signals. */
const SHOWN = 3;

/** The bodies that a format makes, without signatures. `sample`: of a made-up signal, as the tenant has none yet. */
export interface Preview {
  bodies: Record<string, unknown>[];
  sample: boolean;
}

/**
 * What a format makes of one signal, or of the newest ones.
 * @throws DomainError `NOT_FOUND` (signal), `PLAN_REQUIRED` where the plan knows the standard payload only
 */
export async function previewFormat(
  { store, clock }: { store: Store; clock: Clock },
  tenant: Tenant,
  input: { format: PayloadFormat | null; signalId: string | null },
): Promise<Preview> {
  refuseFormat(effectivePlan(tenant, clock.now()), input.format);
  const signals = await signalsFor(store, tenant.id, input.signalId);
  const shown = signals.length === 0 ? [SAMPLE_SIGNAL] : signals;
  return {
    bodies: shown.map((signal) => JSON.parse(formattedPayload(signal, input.format))),
    sample: signals.length === 0,
  };
}

async function signalsFor(store: Store, tenantId: string, signalId: string | null): Promise<Signal[]> {
  if (signalId === null) {
    const wires = await store.recentSignals(tenantId, SHOWN);
    return wires.map((wire) => JSON.parse(wire));
  }
  const found = await store.getSignal(tenantId, signalId);
  if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${signalId}".`);
  return [JSON.parse(found.wire)];
}
