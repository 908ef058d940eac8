import type { Outcome } from '../../model/delivery.ts';
import type { McpSubscription } from '../../model/mcp.ts';
import { storedFormatBytes } from '../../model/payload-shape.ts';
import type { Endpoint, EndpointMode } from '../../model/webhook.ts';
import {
  afterProbe,
  failingMail,
  fitToPlan,
  nextProbeAt,
  type Pause,
  pauseAfterFailure,
  pauseMail,
  stateAfter,
  warningAt,
} from '../../rules/endpoints.ts';
import type { PlanFit, PlanTerms } from '../account-store.ts';
import type { EndpointStore, SubscriptionStore } from '../endpoint-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createNoticeWriter } from './events.ts';
import { createMailWriter, type MailStatements } from './mail.ts';

export interface EndpointStatements extends MailStatements {
  endpoints: {
    pause(row: Record<string, unknown>): PausedRow | undefined;
    holdByHand(id: string): boolean;
    activate(id: string): boolean;
    /** While paused after failures: schedules probes from `probeAt` on, unless one is already scheduled; null: none. */
    planProbe(row: { id: string; probeAt: number | null }): void;
    clearCount(id: string): void;
    releaseRetries(now: number, id: string, later: number, limit: number): number;
    isProbeDue(id: string, now: number): number | undefined;
    /** Number of its probes; undefined if a probe may not end the pause, because it is now manual or due to the plan. */
    selectProbes(id: string): number | undefined;
    /** After a failed probe. */
    planNextProbe(at: number, id: string): void;
    /** After a clock change: shifts scheduled probes. */
    shiftProbes(deltaMs: number): void;
    /** After a probe answered with 410: it stays paused without further probes. */
    endProbesOf(id: string): void;
    addFailure(endpointId: string): FailingRow | undefined;
    resetFailures(endpointId: string): void;
    selectAlarm(endpointId: string): { tenantId: string; alarm: string } | undefined;
    setAlarm(alarm: string, endpointId: string): void;
    /** Discards up to `limit` of its pending deliveries; returns their number. */
    discard(endpointId: string, limit: number): number;
    selectActive(tenantId: string): string[];
    selectPausedByPlan(tenantId: string): string[];
    slowDown(maxRatePerMinute: number, tenantId: string, above: number): void;
    endProbes(tenantId: string): void;
    count(tenantId: string): number | undefined;
    updateEndpoint(endpoint: Endpoint): boolean;
    markDeleted(row: Record<string, unknown>): boolean;
    countActive(tenantId: string): number | undefined;
    insertEndpoint(endpoint: Endpoint): boolean;
    /** The size of the payload formats of the tenant's endpoints, and that of one of them. */
    sumFormats(id: string, tenantId: string): { total: number; own: number } | undefined;
    getEndpoint(tenantId: string, id: string): Endpoint | null;
    selectSubscription(id: string): number | undefined;
    countSubscriptions(keyId: string, tenantId: string): { ofKey: number; ofTenant: number } | undefined;
    renewSubscription(expiresAt: number, id: string): boolean;
    renewSecret(endpoint: Endpoint): boolean;
    takeSubscription(id: string, tenantId: string, keyId: string): string | undefined;
    takeEnded(terms: { now: number; limit: number }): string[];
    markDeletedSubscription(now: number, endpointId: string): void;
    insertSubscription(subscription: McpSubscription): boolean;
  };
}

interface PausedRow {
  tenant_id: string;
  mode: EndpointMode;
  settings: string;
  version: number;
  consecutive_failures: number;
}

/**
 * States of an endpoint:
 *   active  ── 20 failed attempts in a row (`failures`), 410 (`gone`), by hand (`manual`), plan limit (`plan`) → paused
 *   paused  ── resumed by hand, by a probe's success, or by a larger plan                                      → active
 *   either  ── deleted                                                                                         → gone for good
 *
 * Pausing writes one row. Pending deliveries are unchanged and displayed as `held`; claims return nothing for a paused endpoint
 * (docs/decisions/pausing-endpoints-and-holding-deliveries.md).
 */
function createEndpointState(ask: Asks<EndpointStatements>) {
  const addMail = createMailWriter(ask);
  const addNotice = createNoticeWriter(ask);

  return {
    /** Pauses an active endpoint, and stores mail to the owner if the pause was not requested. False if it was not active. */
    *pause(id: string, now: number, { reason, probeAt }: Pause): Script<boolean> {
      const row = yield* ask.endpoints.pause({ id, now, reason, probeAt });
      if (row === undefined) return false;
      // Endpoints of subscriptions are up to the client; the owner does not know them.
      if (row.mode === 'mcp') return true;
      const { label, url } = JSON.parse(row.settings) as { label: string; url: string };
      const mail = pauseMail({ id, tenantId: row.tenant_id, version: row.version, label, url }, reason, now);
      if (mail !== null) yield* addMail(mail);
      const failures = row.consecutive_failures;
      const facts = {
        reason,
        consecutive_failures: failures,
        previous: stateAfter(failures),
        current: 'paused',
      };
      yield* addNotice({ tenantId: row.tenant_id, type: 'endpoint.paused', endpointId: id, facts });
      return true;
    },
    /** Ends a pause; the backlog is due according to its rows, see {@link releaseRetries}. False if it was not paused. */
    *activate(id: string, { clearFailures }: { clearFailures: boolean }): Script<boolean> {
      if (!(yield* ask.endpoints.activate(id))) return false;
      if (clearFailures) yield* ask.endpoints.clearCount(id);
      return true;
    },
    /** Makes up to `limit` scheduled retries due; returns their number. */
    releaseRetries: (id: string, now: number, limit: number): Script<number> =>
      ask.endpoints.releaseRetries(now, id, now, limit),
  };
}

interface FailingRow {
  failures: number;
  autoResume: number;
  tenantId: string;
  label: string;
  url: string;
  version: number;
  /** Whether the tenant has this endpoint, and it is not paused. */
  isWatched: number;
}

/** Applies a counted outcome to its endpoint, in the same commit. */
export function createEndpointHealth(
  ask: Asks<EndpointStatements>,
): (outcome: Omit<Outcome, 'attempt' | 'next'>) => Script<void> {
  const state = createEndpointState(ask);
  const addNotice = createNoticeWriter(ask);
  const addMail = createMailWriter(ask);

  function* settleProbe(outcome: Pick<Outcome, 'endpointId' | 'streak' | 'gone' | 'at'>): Script<void> {
    const { endpointId } = outcome;
    const next = afterProbe(outcome, (yield* ask.endpoints.selectProbes(endpointId)) ?? null);
    if (next.step === 'activate') yield* state.activate(endpointId, { clearFailures: true });
    else if (next.step === 'end_probes') yield* ask.endpoints.endProbesOf(endpointId);
    else if (next.step === 'probe_again') yield* ask.endpoints.planNextProbe(next.at, endpointId);
  }

  function* recover(endpointId: string): Script<void> {
    const row = yield* ask.endpoints.selectAlarm(endpointId);
    if (row === undefined) return;
    yield* ask.endpoints.setAlarm('none', endpointId);
    const facts = { previous: row.alarm, current: 'active' };
    yield* addNotice({ tenantId: row.tenantId, type: 'endpoint.recovered', endpointId, facts });
  }

  function* warn(endpointId: string, row: FailingRow, at: number): Script<void> {
    const warning = row.isWatched === 1 ? warningAt(row.failures) : null;
    if (warning === null) return;
    const { facts, byMail } = warning;
    yield* ask.endpoints.setAlarm('failing', endpointId);
    yield* addNotice({ tenantId: row.tenantId, type: 'endpoint.failing', endpointId, facts: { ...facts } });
    if (byMail) yield* addMail(failingMail({ id: endpointId, ...row }, facts, at));
  }

  return function* (outcome) {
    const { endpointId, streak, at } = outcome;
    if (outcome.probe) yield* settleProbe(outcome);
    if (streak === 'reset') {
      yield* ask.endpoints.resetFailures(endpointId);
      yield* recover(endpointId);
    }
    if (streak !== 'add') return;
    const row = yield* ask.endpoints.addFailure(endpointId);
    if (row === undefined) return;
    const { failures, autoResume } = row;
    const pause = pauseAfterFailure(outcome, { failures, autoResume: autoResume === 1 });
    if (pause !== null) yield* state.pause(endpointId, at, pause);
    else yield* warn(endpointId, row, at);
  };
}

/** Applies a plan's limits on active endpoints and their rate. Nothing is deleted. */
export function createEndpointPlan(
  ask: Asks<EndpointStatements>,
): (tenantId: string, terms: PlanTerms) => Script<PlanFit> {
  const state = createEndpointState(ask);

  return function* (tenantId, { endpoints: limit, maxRatePerMinute, now }) {
    yield* ask.endpoints.slowDown(maxRatePerMinute, tenantId, maxRatePerMinute);
    const found = {
      active: yield* ask.endpoints.selectActive(tenantId),
      pausedByPlan: yield* ask.endpoints.selectPausedByPlan(tenantId),
    };
    const { pause, resume, endsProbes } = fitToPlan(found, limit);
    for (const id of pause) yield* state.pause(id, now, { reason: 'plan', probeAt: null });
    if (endsProbes) yield* ask.endpoints.endProbes(tenantId);
    for (const id of resume) yield* state.activate(id, { clearFailures: false });
    return { paused: pause, resumed: resume };
  };
}

/** Deliveries discarded or made due per commit: about 10 ms of the writer. Housekeeping discards the rest. */
const AT_ONCE = 1_000;

export function endpointChanges(ask: Asks<EndpointStatements>) {
  const state = createEndpointState(ask);

  /** Whether the endpoint's payload format is larger than before, and all formats together then exceed the limit. */
  function* exceeds({ tenantId, id, settings }: Endpoint, formatsLimit: number): Script<boolean> {
    const bytes = storedFormatBytes(settings.payload_format);
    if (bytes === 0) return false;
    const { total = 0, own = 0 } = (yield* ask.endpoints.sumFormats(id, tenantId)) ?? {};
    return bytes > own && total - own + bytes > formatsLimit;
  }

  return {
    *createEndpoint(endpoint, limit, formatsLimit = Number.POSITIVE_INFINITY) {
      if (limit !== null && ((yield* ask.endpoints.count(endpoint.tenantId)) ?? 0) >= limit) return 'full';
      if (yield* exceeds(endpoint, formatsLimit)) return 'formats_full';
      yield* ask.endpoints.insertEndpoint(endpoint);
      return 'created';
    },
    *updateEndpoint(endpoint, now, _what, formatsLimit = Number.POSITIVE_INFINITY) {
      const { id, settings } = endpoint;
      if (yield* exceeds(endpoint, formatsLimit)) return 'formats_full';
      if (!(yield* ask.endpoints.updateEndpoint(endpoint))) return 'stale';
      yield* ask.endpoints.planProbe({ id, probeAt: settings.auto_resume ? nextProbeAt(now, 0) : null });
      return 'updated';
    },
    *pauseEndpoint(tenantId, id, now) {
      if ((yield* ask.endpoints.getEndpoint(tenantId, id)) === null) return false;
      if (!(yield* state.pause(id, now, { reason: 'manual', probeAt: null })))
        yield* ask.endpoints.holdByHand(id);
      return true;
    },
    *resumeEndpoint({ tenantId, id, now, endpointLimit, limit }) {
      const endpoint = yield* ask.endpoints.getEndpoint(tenantId, id);
      if (endpoint === null) return 'absent';
      if (endpoint.status === 'active') return 'active';
      if (endpointLimit !== null && ((yield* ask.endpoints.countActive(tenantId)) ?? 0) >= endpointLimit)
        return 'over_limit';
      if ((yield* state.releaseRetries(id, now, limit)) === limit) return 'more';
      yield* state.activate(id, { clearFailures: true });
      return 'resumed';
    },
    *deleteEndpoint(tenantId, id, now, version) {
      if (!(yield* ask.endpoints.markDeleted({ tenantId, id, now, version: version ?? null }))) return false;
      yield* ask.endpoints.discard(id, AT_ONCE);
      return true;
    },
  } satisfies Scripts<EndpointStore>;
}

export function subscriptionChanges(ask: Asks<EndpointStatements>) {
  const state = createEndpointState(ask);

  function* end(endpointId: string, now: number): Script<void> {
    yield* ask.endpoints.markDeletedSubscription(now, endpointId);
    yield* ask.endpoints.discard(endpointId, AT_ONCE);
  }

  return {
    *createSubscription({ subscription, endpoint }, most) {
      const { tenantId, keyId, id } = subscription;
      if ((yield* ask.endpoints.selectSubscription(id)) !== undefined) return 'duplicate';
      const { ofKey = 0, ofTenant = 0 } = (yield* ask.endpoints.countSubscriptions(keyId, tenantId)) ?? {};
      if (ofKey >= most.ofKey) return 'key_limit';
      if (ofTenant >= most.ofTenant) return 'tenant_limit';
      yield* ask.endpoints.insertEndpoint(endpoint);
      yield* ask.endpoints.insertSubscription(subscription);
      return 'created';
    },
    *renewSubscription({ subscription, endpoint }) {
      if (!(yield* ask.endpoints.renewSecret(endpoint))) return false;
      if (!(yield* ask.endpoints.renewSubscription(subscription.expiresAt, subscription.id))) return false;
      if (endpoint.status === 'paused') {
        yield* state.releaseRetries(endpoint.id, subscription.createdAt, AT_ONCE);
        yield* state.activate(endpoint.id, { clearFailures: true });
      }
      return true;
    },
    *endSubscription(tenantId, keyId, id, now) {
      const endpointId = (yield* ask.endpoints.takeSubscription(id, tenantId, keyId)) ?? null;
      if (endpointId !== null) yield* end(endpointId, now);
      return endpointId;
    },
    *endSubscriptions(now, limit) {
      const endpointIds = yield* ask.endpoints.takeEnded({ now, limit });
      for (const endpointId of endpointIds) yield* end(endpointId, now);
      return endpointIds;
    },
  } satisfies Scripts<SubscriptionStore>;
}
