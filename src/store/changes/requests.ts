import { HOUR_MS } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { AuditActor } from '../../model/audit.ts';
import { DomainError } from '../../model/errors.ts';
import type { Job } from '../../model/job.ts';
import type { AuditStore } from '../account-store.ts';
import { actOf, keepsClient } from '../audited.ts';
import type {
  HeldKey,
  IdempotencyStore,
  JobStore,
  KeyedRequest,
  Reservation,
  Reserved,
  Step,
  StoredResponse,
} from '../request-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { heardWithin, type PresenceStatements } from './processes.ts';

export interface RequestStatements extends PresenceStatements {
  requests: {
    selectKey(tenantId: string, route: string, key: string): KeyRow | undefined;
    insertKey(row: Record<string, unknown>): void;
    takeOver(row: Record<string, unknown>): void;
    answer(row: Record<string, unknown>): boolean;
    removeUnused(row: Record<string, unknown>): boolean;
    releaseKey(row: Record<string, unknown>): void;
    sweep(now: number, limit: number): void;
    holderOf(tenantId: string, route: string, key: string): string | undefined;
    addStep(step: string, tenantId: string, route: string, key: string): void;
    insertAudit(row: Record<string, unknown>): void;
    pruneAudit(limit: number, before: number): number;
  };
}

/** Expired keys deleted with each new one: more than arrive, so that none accumulate, but few enough to be cheap. */
const SWEPT_AT_ONCE = 20;

interface KeyRow {
  fingerprint: string;
  token: string;
  process: string;
  seed: string;
  started_at: number;
  steps: string;
  expires_at: number;
  status: number | null;
  location: string | null;
}

/** A request for a key. */
export interface Bid extends Reservation {
  /** The process that will run the request. */
  process: string;
  /** The token of a run of this process that ended without releasing the key. */
  from: string | null;
}

/**
 * The result of a bid. `answered`: the body is read by the caller, as results of a commit arrive together: 300 bodies of 1 MB paused
 * the process for 0.5 s. `taken`: by a run of this process (`own`), which knows whether it is still running, or of another live one. */
export type BidResult =
  | Extract<Reserved, { state: 'held' }>
  | { state: 'answered'; answer: Omit<StoredResponse, 'body'> }
  | { state: 'mismatch' }
  | { state: 'taken'; token: string; own: boolean };

/** Idempotency keys: reserved, answered and released. */
export function idempotencyChanges(ask: Asks<RequestStatements>) {
  return {
    *bidForKey(request: KeyedRequest, bid: Bid): Script<BidResult> {
      const { token, now, process, from } = bid;
      const row = yield* ask.requests.selectKey(request.tenantId, request.route, request.key);
      if (row === undefined || row.expires_at <= now) {
        yield* ask.requests.insertKey({ ...request, ...bid, from: undefined });
        yield* ask.requests.sweep(now, SWEPT_AT_ONCE);
        return { state: 'held', held: { request, token, seed: token, startedAt: now, steps: [] } };
      }
      if (row.fingerprint !== request.fingerprint) return { state: 'mismatch' };
      const { status, location } = row;
      if (status !== null) return { state: 'answered', answer: { status, location } };
      const own = row.process === process;
      if (own ? row.token !== from : yield* ask.presence.isHeard(row.process, ...heardWithin(now))) {
        return { state: 'taken', token: row.token, own };
      }
      const { tenantId, route, key } = request;
      yield* ask.requests.takeOver({ tenantId, route, key, token, process });
      return { state: 'held', held: toHeld(request, token, row) };
    },
    answerKey: ({ tenantId, route, key }, token, kept) =>
      ask.requests.answer({ tenantId, route, key, token, ...kept }),
    *releaseKey({ tenantId, route, key }, token) {
      const holder = { tenantId, route, key, token };
      if (!(yield* ask.requests.removeUnused(holder))) yield* ask.requests.releaseKey(holder);
    },
  } satisfies Scripts<IdempotencyStore> & Record<'bidForKey', unknown>;
}

function toHeld(request: KeyedRequest, token: string, { seed, started_at, steps }: KeyRow): HeldKey {
  const lines = steps.split('\n').filter((line) => line !== '');
  return {
    request,
    token,
    seed,
    startedAt: started_at,
    steps: lines.map((line) => JSON.parse(line) as Step),
  };
}

/** A change made by a keyed request. */
export interface KeptCall extends Pick<HeldKey, 'request' | 'token'>, Pick<Step, 'item' | 'name'> {
  args: unknown[];
  /** The actor; null: the change is not recorded in the audit log. */
  by: AuditedActor | null;
}

type ChangeScript = (...args: never[]) => Script<unknown>;

/** Runs any other change, and records in the same transaction that a keyed request has made it. */
export function keptStepChanges(
  ask: Asks<RequestStatements>,
  changes: Readonly<Record<string, ChangeScript>>,
  makeDone: (call: DoneCall) => Script<unknown>,
) {
  return {
    *makeKept({ request: { tenantId, route, key }, token, item, name, args, by }: KeptCall): Script<unknown> {
      const holder = yield* ask.requests.holderOf(tenantId, route, key);
      // No row: a person named in the request was erased. It continues, and none of its steps are kept.
      if (holder !== undefined && holder !== token) throw lostKey();
      const change = changes[name] as ((...args: unknown[]) => Script<unknown>) | undefined;
      if (change === undefined) throw new Error(`There is no change "${name}".`);
      const result = yield* by === null ? change(...args) : makeDone({ ...by, name, args });
      if (result !== false && result !== null) {
        yield* ask.requests.addStep(
          JSON.stringify({ item, name, result: result as Json } satisfies Step),
          tenantId,
          route,
          key,
        );
      }
      return result;
    },
  };
}

function lostKey(): DomainError {
  const detail = 'Another run of the request with this Idempotency-Key has taken its place.';
  return new DomainError('IDEMPOTENCY_IN_FLIGHT', detail, { retryAfterSeconds: 1 });
}

/** The actor of a change, and its time. */
export interface AuditedActor extends AuditActor {
  at: number;
}

/** A change made by an actor. */
export interface DoneCall extends AuditedActor {
  name: string;
  args: unknown[];
}

/** Runs any other change, and adds its entry to the audit log in the same transaction. */
export function auditChanges(ask: Asks<RequestStatements>, changes: Readonly<Record<string, ChangeScript>>) {
  return {
    *makeDone({ name, args, tenantId, at, actor, client: from = '' }: DoneCall): Script<unknown> {
      const change = changes[name] as ((...args: unknown[]) => Script<unknown>) | undefined;
      if (change === undefined) throw new Error(`There is no change "${name}".`);
      const result = yield* change(...args);
      const act = actOf(
        toldName(name),
        args,
        name === HELD ? Reflect.get(result as object, 'committed') : result,
      );
      if (act !== null) {
        const { action, subject, count = 1, gatheredBy } = act;
        const client = keepsClient(action) ? from : '';
        const mark = [Math.floor(at / HOUR_MS), gatheredBy, client].join(' ').trimEnd();
        const gathered = gatheredBy === undefined ? null : mark;
        yield* ask.requests.insertAudit({ tenantId, at, actor, action, subject, count, gathered, client });
      }
      return result;
    },
    pruneAudit: (before, limit) => ask.requests.pruneAudit(limit, before),
  } satisfies Scripts<AuditStore> & Record<'makeDone', ChangeScript>;
}

/** `commitSignals` in the variant that also leases deliveries. */
const HELD = 'commitSignalsHeld';

/** The name of a change in the audit log. */
export function toldName(name: string): string {
  return name === HELD ? 'commitSignals' : name;
}

export interface JobStatements {
  jobs: {
    countOpen(tenantId: string): number | undefined;
    /** False if the job is not at `processed`. */
    advance(row: { id: string; processed: number; status: string; count: number }): boolean;
    insertResults(id: string, processed: number, results: string): void;
    finish(at: number, error: string | null, id: string): void;
    insert(job: Job & { results: string }): boolean;
    insertItems(id: string, processed: number, items: Uint8Array): void;
    /** Of the steps up to that which began at `processed`. */
    deleteItems(id: string, processed: number): void;
    /** Fewer than `limit` if their results are long. */
    prune(before: number, limit: number): number;
  };
}

export function jobChanges(ask: Asks<JobStatements>) {
  return {
    *createJob(job, steps, mostOpen) {
      if (((yield* ask.jobs.countOpen(job.tenantId)) ?? 0) >= mostOpen) return false;
      yield* ask.jobs.insert({ ...job, results: '[]' });
      for (const { from, items } of steps) yield* ask.jobs.insertItems(job.id, from, items);
      return true;
    },
    *advanceJob({ id, processed, results, end }) {
      const step = { id, processed, status: end?.status ?? 'running', count: results.length };
      if (!(yield* ask.jobs.advance(step))) return false;
      yield* ask.jobs.deleteItems(id, end === null ? processed : Number.MAX_SAFE_INTEGER);
      if (results.length > 0) yield* ask.jobs.insertResults(id, processed, JSON.stringify(results));
      if (end !== null)
        yield* ask.jobs.finish(end.at, end.error === null ? null : JSON.stringify(end.error), id);
      return true;
    },
    pruneJobs: (before, limit) => ask.jobs.prune(before, limit),
  } satisfies Scripts<JobStore>;
}
