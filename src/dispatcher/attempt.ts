import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { BodyBytes } from '../model/body-bytes.ts';
import type { AttemptRecord, ClaimedDelivery, SentRequest } from '../model/delivery.ts';
import { deliveryHeaderList, timestampSeconds } from '../model/delivery-headers.ts';
import type { Endpoint } from '../model/webhook.ts';
import { createSigner, type Signer } from '../webhooks/signature.ts';
import { checkTarget } from '../webhooks/targets.ts';
import type { DispatcherLog } from './dispatcher.ts';
import { MESSAGES } from './faults.ts';
import type { Send, SendListener, SendResult } from './send.ts';

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const QUOTATION_MARK = 0x22;

/** An endpoint made ready to send to, once a version. */
export interface LaneTarget {
  endpoint: Endpoint;
  /** Null where the endpoint cannot be sent to; `fault` says why, and every attempt ends in it. */
  ready: { origin: string; host: string; path: string; signer: Signer } | null;
  fault: 'internal' | 'blocked_target';
}

export interface Attempts {
  prepare(endpoint: Endpoint): LaneTarget;
  /**
   * Signs and sends, then calls `watch.done`, once: what cannot be prepared ends as an `internal` failure of this delivery
   * alone, before this returns.
   */
  run(target: LaneTarget, delivery: ClaimedDelivery, watch: AttemptWatch): void;
}

/** Who an attempt answers to. */
export interface AttemptWatch {
  /** See {@link SendListener.mayRepeat}. */
  mayRepeat(): boolean;
  /** The attempt as it will be kept, and what decides about the delivery. */
  done(record: AttemptRecord, result: SendResult): void;
}

export interface AttemptParts {
  clock: Clock;
  newId: NewId;
  secretBox: SecretBox;
  allow: AddressSet;
  send: Send;
  log: DispatcherLog;
}

export function createAttempts({ clock, newId, secretBox, allow, send, log }: AttemptParts): Attempts {
  function prepare(endpoint: Endpoint): LaneTarget {
    // Again at every version, not only at save: the exempt addresses may have been taken away since.
    const checked = checkTarget(endpoint.settings.url, allow);
    if ('fault' in checked) return { endpoint, ready: null, fault: 'blocked_target' };
    try {
      const signer = createSigner(secretBox.open(endpoint.secretBox, endpoint.id));
      const { origin, host, pathname, search } = checked.url;
      return { endpoint, ready: { origin, host, path: pathname + search, signer }, fault: 'internal' };
    } catch (error) {
      log.error({ err: error, endpointId: endpoint.id }, 'an endpoint secret cannot be opened');
      return { endpoint, ready: null, fault: 'internal' };
    }
  }

  function run(target: LaneTarget, delivery: ClaimedDelivery, watch: AttemptWatch): void {
    const { endpoint, ready, fault } = target;
    const running = new Running(newId('att'), { attempt: delivery.attempt, startedAt: clock.now() }, watch);
    if (ready === null) {
      endUnsent(running, fault);
      return;
    }
    if (!isWhole(delivery)) {
      log.error({ deliveryId: delivery.id }, 'a stored body is lost or unreadable');
      endUnsent(running, 'internal');
      return;
    }
    try {
      const { attempt, startedAt } = running;
      const sealed = ready.signer.seal(delivery, timestampSeconds(startedAt));
      const { body, bodySignature, serviceSignature, standardSignature } = sealed;
      const headers = deliveryHeaderList({ deliveryId: delivery.id, attempt, startedAt }, sealed);
      const contentLength = body.length;
      running.sent = { host: ready.host, contentLength, bodySignature, serviceSignature, standardSignature };
      const timeoutMs = endpoint.settings.timeout_seconds * 1_000;
      send({ method: 'POST', origin: ready.origin, path: ready.path, headers, body, timeoutMs }, running);
    } catch (error) {
      log.error({ err: error, deliveryId: delivery.id }, 'a delivery cannot be prepared');
      endUnsent(running, 'internal');
    }
  }

  return { prepare, run };
}

/** An attempt from its start to its record. */
class Running implements SendListener {
  readonly id: string;
  readonly attempt: number;
  readonly startedAt: number;
  sent: SentRequest | null = null;
  readonly #watch: AttemptWatch;

  constructor(
    id: string,
    { attempt, startedAt }: Pick<AttemptRecord, 'attempt' | 'startedAt'>,
    watch: AttemptWatch,
  ) {
    this.id = id;
    this.attempt = attempt;
    this.startedAt = startedAt;
    this.#watch = watch;
  }

  mayRepeat(): boolean {
    return this.#watch.mayRepeat();
  }

  onResult(result: SendResult): void {
    const { id, attempt, startedAt, sent } = this;
    const { durationMs, response, error, timings } = result;
    if (result.repeated && sent !== null) sent.repeated = true;
    this.#watch.done({ id, attempt, startedAt, durationMs, sent, response, error, timings }, result);
  }
}

/**
 * Whether a stored body is there from end to end: what is lost or cut off must not be signed and be refused by a receiver
 * again and again. Its ends only, as parsing all of it took 2.6 us a delivery, and what lies between is ours.
 */
function isWhole({ bytes, start, end }: BodyBytes): boolean {
  const length = end - start;
  if (length < 2 || bytes[start] !== OPENING_BRACE || bytes[end - 1] !== CLOSING_BRACE) return false;
  return length === 2 || bytes[start + 1] === QUOTATION_MARK;
}

function endUnsent(running: Running, code: LaneTarget['fault']): void {
  const error = { code, message: MESSAGES[code] };
  const nothing = {
    response: null,
    timings: {},
    durationMs: 0,
    retryAfterMs: null,
    repeated: false,
    cut: false,
  };
  running.onResult({ ...nothing, error });
}
