import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { Span, Tracer } from '../lib/tracing.ts';
import type { AttemptRecord, ClaimedDelivery, Outcome, SentRequest } from '../model/delivery.ts';
import type { Agenda, WakeUp } from './agenda.ts';
import type { Lane } from './lane.ts';
import { decide } from './outcome.ts';
import type { Log, OutcomeRecorder } from './recorder.ts';
import { Exchange, type ExchangeDeps, MESSAGES, type SendResult } from './send.ts';
import type { Health, Slots } from './slots.ts';
import { type LaneTarget, type Sealed, seal } from './target.ts';

/** Dependencies shared by all flights. */
export interface FlightDeps extends ExchangeDeps {
  newId: NewId;
  random: Random;
  agenda: Agenda;
  slots: Slots;
  recorder: OutcomeRecorder;
  wakeUp: WakeUp;
  log: Log;
  /** Null if nothing is traced. */
  tracer: Tracer | null;
}

/** The delivery, its target, and the kind of attempt. */
export interface FlightTerms {
  lane: Lane;
  target: LaneTarget;
  delivery: ClaimedDelivery;
  /**
   * A `probe` checks whether a paused endpoint works again. A `test` is not stored, and counts only towards
   * the rate limit.
   */
  kind: 'queued' | 'probe' | 'test';
  /** The health that its slot is taken for; null for tests, which do not wait for a slot. */
  health: Health | null;
  /** Called when the attempt is over and the outcome of its delivery is stored. */
  onOver: ((record: AttemptRecord) => void) | null;
}

/**
 * One attempt of one delivery. Its states, in the order of the methods:
 *   claimed   holds a slot
 *   sent      signed, and passed to a connection
 *   landed    answered, failed or timed out, once; the next state of the delivery is decided (outcome.ts)
 *   kept      attempt and outcome are stored, and the lane releases the delivery: only now, so that after a
 *             crash at most as many deliveries are sent again as an endpoint may have in flight
 * A class without closures, which would be created for each delivery; undici calls seven methods of it.
 */
export class Flight extends Exchange {
  readonly #deps: FlightDeps;
  readonly #terms: FlightTerms;
  readonly tenantId: string;
  readonly #slot: number;
  readonly #id: string;
  #startedAt = 0;
  #sent: SentRequest | null = null;
  #span: Span | null = null;

  constructor(deps: FlightDeps, terms: FlightTerms) {
    super(deps);
    this.#deps = deps;
    this.#terms = terms;
    this.tenantId = terms.lane.tenantId;
    this.#slot = deps.slots.take(terms.health, this.tenantId);
    this.#id = deps.newId('att');
  }

  /**
   * claimed → sent. If the request cannot be prepared, the attempt fails immediately with `internal`, for
   * this delivery only.
   */
  depart(): void {
    const { clock, log, tracer } = this.#deps;
    const { target, delivery } = this.#terms;
    this.#startedAt = clock.now();
    if (tracer !== null) this.#span = this.#begin(tracer);
    let sealed: Sealed | LaneTarget['fault'] = 'internal';
    try {
      sealed = seal(target, delivery, { startedAt: this.#startedAt, span: this.#span });
    } catch (error) {
      log.error({ err: error, deliveryId: delivery.id }, 'a delivery cannot be prepared');
    }
    if (typeof sealed === 'string') {
      this.onResult(unsent(sealed));
      return;
    }
    this.#sent = sealed.sent;
    this.send(sealed.request);
  }

  #begin(tracer: Tracer): Span {
    const { lane, target, delivery } = this.#terms;
    return tracer.begin('POST webhook', {
      kind: 'client',
      parent: delivery.trace ?? null,
      attributes: {
        'http.request.method': 'POST',
        'server.address': target.ready?.host ?? '',
        'http.request.resend_count': delivery.attempt - 1,
        'signalpost.delivery.id': delivery.id,
        'signalpost.endpoint.id': lane.endpointId,
      },
    });
  }

  /** The receiver may have seen the first request, so the second one counts towards the rate limit, too. */
  protected override mayRepeat(): boolean {
    return this.#terms.lane.throttle.take(this.#deps.clock.monotonic());
  }

  /** sent → landed. */
  protected override onResult(result: SendResult): void {
    const { lane, delivery, kind } = this.#terms;
    const record = this.#record(result);
    if (this.#span !== null) endSpan(this.#span, result);
    if (kind === 'test') {
      this.#freePlace();
      this.#end(record);
    } else if (result.cut) {
      this.#freePlace();
      lane.workIsDue(this.#deps.clock.now()); // nothing is stored, so the delivery is still due
      lane.leave(delivery.id, false);
      this.#end(record);
    } else {
      const failures = lane.landed(result.error !== null, result.response !== null);
      // A success releases its slot before its commit, which should not delay other endpoints. A failure
      // keeps it, because the commit is where the 20th failure pauses the endpoint.
      if (result.error === null) this.#freePlace();
      void this.#keep(this.#outcome(record, result), failures);
    }
  }

  /** landed → kept. `failures`: see {@link Lane.landed}. */
  async #keep(outcome: Outcome, failures: number): Promise<void> {
    const { lane, delivery } = this.#terms;
    const fate = await this.#deps.recorder.store(outcome);
    const { next, streak, probe, at, attempt } = outcome;
    if (fate === 'kept') {
      if (streak === 'reset') lane.failuresReset(failures);
      if (next.status === 'retrying') lane.workIsDue(next.at);
      if (probe && next.status === 'delivered') lane.workIsDue(at); // the endpoint is active again
    }
    const failed = attempt.error !== null;
    if (failed) this.#freePlace();
    lane.leave(delivery.id, failed);
    this.#end(attempt);
  }

  /** Releases the slot if the attempt could not be recorded before it was sent. */
  cancel(): void {
    this.#freePlace();
  }

  #end(record: AttemptRecord): void {
    const { lane, onOver } = this.#terms;
    this.#deps.agenda.consider(lane);
    this.#deps.wakeUp.soon();
    onOver?.(record);
  }

  #freePlace(): void {
    this.#deps.slots.release(this.#terms.health, this.tenantId, this.#slot);
    this.#deps.wakeUp.soon();
  }

  #record({ durationMs, response, error, timings, repeated }: SendResult): AttemptRecord {
    const sent = this.#sent;
    if (repeated && sent !== null) sent.repeated = true;
    const { attempt } = this.#terms.delivery;
    return { id: this.#id, attempt, startedAt: this.#startedAt, durationMs, sent, response, error, timings };
  }

  #outcome(record: AttemptRecord, result: SendResult): Outcome {
    const { lane, target, delivery, kind } = this.#terms;
    const { clock, random } = this.#deps;
    const at = clock.now();
    const probe = kind === 'probe';
    const { next, gone, streak } = decide({
      result,
      settings: target.endpoint.settings,
      mode: target.endpoint.mode,
      attemptsInCycle: delivery.attemptsInCycle,
      now: at,
      fraction: result.error === null ? 0 : random.fraction(),
      probe,
    });
    return {
      deliveryId: delivery.id,
      endpointId: lane.endpointId,
      attempt: record,
      at,
      next,
      // There is nothing to reset if the store is known to count no failures.
      streak: streak === 'reset' && !probe && !lane.isFailing ? 'keep' : streak,
      gone,
      probe,
    };
  }
}

function unsent(code: LaneTarget['fault']): SendResult {
  const error = { code, message: MESSAGES[code] };
  return {
    error,
    response: null,
    timings: {},
    durationMs: 0,
    retryAfterMs: null,
    repeated: false,
    cut: false,
  };
}

function endSpan(span: Span, { response, error }: SendResult): void {
  span.end(
    {
      ...(response !== null && { 'http.response.status_code': response.status }),
      ...(error !== null && { 'error.type': error.code }),
    },
    error !== null,
  );
}
