import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { BodyBytes } from '../model/body-bytes.ts';
import type { AttemptRecord, ClaimedDelivery } from '../model/delivery.ts';
import { deliveryHeaderList, timestampSeconds } from '../model/delivery-headers.ts';
import type { Endpoint } from '../model/webhook.ts';
import { createSigner, type Signer } from '../webhooks/signature.ts';
import { checkTarget } from '../webhooks/targets.ts';
import type { DispatcherLog } from './dispatcher.ts';
import { MESSAGES } from './faults.ts';
import type { Send, SendResult } from './send.ts';

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

/** One attempt as it will be kept, and what decides about the delivery. */
export interface Attempt {
  record: AttemptRecord;
  result: SendResult;
}

export interface Attempts {
  prepare(endpoint: Endpoint): LaneTarget;
  /**
   * Signs and sends, then calls `watch.done`, once and not before the caller has returned: what cannot be prepared ends as an
   * `internal` failure of this delivery alone. No promise, as each of a delivery's costs a third of a microsecond.
   */
  run(target: LaneTarget, delivery: ClaimedDelivery, watch: AttemptWatch): void;
}

/** Who an attempt answers to. */
export interface AttemptWatch {
  /** See {@link SendRequest.mayRepeat}. */
  mayRepeat(): boolean;
  done(attempt: Attempt): void;
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
    const record: AttemptRecord = {
      id: newId('att'),
      attempt: delivery.attempt,
      startedAt: clock.now(),
      durationMs: 0,
      sent: null,
      response: null,
      error: null,
      timings: {},
    };
    void sendSigned(target, delivery, { record, mayRepeat: watch.mayRepeat }).then((result) => {
      record.durationMs = result.durationMs;
      record.response = result.response;
      record.error = result.error;
      record.timings = result.timings;
      if (result.repeated && record.sent !== null) record.sent.repeated = true;
      watch.done({ record, result });
    });
  }

  function sendSigned(
    { endpoint, ready, fault }: LaneTarget,
    delivery: ClaimedDelivery,
    { record, mayRepeat }: { record: AttemptRecord; mayRepeat: () => boolean },
  ): Promise<SendResult> {
    if (ready === null) return unsent(fault);
    if (!isWhole(delivery)) {
      log.error({ deliveryId: delivery.id }, 'a stored body is lost or unreadable');
      return unsent('internal');
    }
    try {
      const { startedAt, attempt } = record;
      const { body, ...signatures } = ready.signer.seal(delivery, timestampSeconds(startedAt));
      const headers = deliveryHeaderList({ deliveryId: delivery.id, attempt, startedAt }, signatures);
      record.sent = { host: ready.host, contentLength: body.length, ...signatures };
      const timeoutMs = endpoint.settings.timeout_seconds * 1_000;
      return send({ origin: ready.origin, path: ready.path, headers, body, timeoutMs, mayRepeat });
    } catch (error) {
      log.error({ err: error, deliveryId: delivery.id }, 'a delivery cannot be prepared');
      return unsent('internal');
    }
  }

  return { prepare, run };
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

function unsent(code: LaneTarget['fault']): Promise<SendResult> {
  return Promise.resolve({
    response: null,
    error: { code, message: MESSAGES[code] },
    timings: {},
    durationMs: 0,
    retryAfterMs: null,
    repeated: false,
    cut: false,
  });
}
