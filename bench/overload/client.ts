import { Pool } from 'undici';
import { messageBody, sharedNow } from '../way/setting.ts';

/** One run: a fixed number of requests per second, whatever the responses; null: each after the previous response, in `lanes`. */
export interface Run {
  url: string;
  apiKeys: string[];
  seconds: number;
  perSecond: number | null;
  lanes: number;
  /** The number of the first post; each post is different. */
  from: number;
  /** Whether a refused caller waits as long as `Retry-After` says; omitted: it retries at once. */
  waits?: boolean;
}

/** The result of a run. */
export interface RunResult {
  /** The IDs of accepted signals. */
  accepted: string[];
  /** Milliseconds from the scheduled time of each accepted request. */
  acceptedMs: number[];
  /** The number of each accepted post, and the time of its response. */
  numbers: number[];
  answeredAt: number[];
  refused: number;
  /** Refusals without `Retry-After`. */
  rude: number;
  /** Responses other than success and 503, by status, or `none`. */
  other: Record<string, number>;
  sent: number;
  elapsedMs: number;
}

/** More than the server admits, so that no request waits for a connection. */
const CONNECTIONS = 8_192;

async function run({
  url,
  apiKeys,
  seconds,
  perSecond,
  lanes,
  from,
  waits = false,
}: Run): Promise<RunResult> {
  const pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: 60_000 });
  const result: RunResult = {
    ...{ accepted: [], acceptedMs: [], numbers: [], answeredAt: [] },
    ...{ refused: 0, rude: 0, other: {}, sent: 0, elapsedMs: 0 },
  };
  let next = from;

  async function post(due: number): Promise<void> {
    const number = next++;
    result.sent++;
    let status = 'none';
    try {
      const { statusCode, headers, body } = await pool.request({
        path: '/v1/signals',
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKeys[number % apiKeys.length]}`,
          'content-type': 'application/json',
        },
        body: messageBody(number),
      });
      const text = await body.text();
      status = String(statusCode);
      if (statusCode === 201) {
        for (const { signal_id: id } of JSON.parse(text).data.signals) result.accepted.push(id);
        result.acceptedMs.push(performance.now() - due);
        result.numbers.push(number);
        result.answeredAt.push(sharedNow());
        return;
      }
      if (statusCode === 503) {
        result.refused++;
        const retryAfter = headers['retry-after'];
        if (retryAfter === undefined) result.rude++;
        if (waits) await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000));
        return;
      }
    } catch {
      // Counted below: there was no response.
    }
    result.other[status] = (result.other[status] ?? 0) + 1;
  }

  const began = performance.now();
  const end = began + seconds * 1_000;
  const underWay = new Set<Promise<void>>();
  if (perSecond === null) {
    const lane = async () => {
      while (performance.now() < end) await post(performance.now());
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  } else {
    // An open loop: requests do not wait for earlier ones. A late request is measured from its scheduled time.
    for (let due = began; due < end; ) {
      const now = performance.now();
      for (; due <= now && due < end; due += 1_000 / perSecond) {
        const one = post(due).finally(() => underWay.delete(one));
        underWay.add(one);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(underWay);
  }
  result.elapsedMs = performance.now() - began;
  await pool.close();
  return result;
}

process.on('message', (order: Run) => void run(order).then((result) => process.send?.(result)));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
