import { Pool } from 'undici';
import { messageBody, sharedNow } from '../way/setting.ts';

/** One run: so many requests a second, whatever becomes of them; null: as fast as they are answered, over `lanes`. */
export interface Run {
  url: string;
  apiKeys: string[];
  seconds: number;
  perSecond: number | null;
  lanes: number;
  /** Of the first post; each is another. */
  from: number;
  /** Whether a caller that is refused waits as long as `Retry-After` says; left out: it comes again at once. */
  waits?: boolean;
}

/** What came of it. */
export interface Came {
  /** Ids of the signals that were answered with success. */
  accepted: string[];
  /** Milliseconds from when each accepted request was to be sent. */
  acceptedMs: number[];
  /** The number of each accepted post, and when it was answered. */
  numbers: number[];
  answeredAt: number[];
  refused: number;
  /** Refusals without `Retry-After`. */
  rude: number;
  /** Neither success nor 503: by status, or `none`. */
  other: Record<string, number>;
  sent: number;
  elapsedMs: number;
}

/** More than the server lets in, so that nobody waits for a connection. */
const CONNECTIONS = 8_192;

async function run({ url, apiKeys, seconds, perSecond, lanes, from, waits = false }: Run): Promise<Came> {
  const pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: 60_000 });
  const came: Came = {
    ...{ accepted: [], acceptedMs: [], numbers: [], answeredAt: [] },
    ...{ refused: 0, rude: 0, other: {}, sent: 0, elapsedMs: 0 },
  };
  let next = from;

  async function post(due: number): Promise<void> {
    const number = next++;
    came.sent++;
    let told = 'none';
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
      told = String(statusCode);
      if (statusCode === 201) {
        for (const { signal_id: id } of JSON.parse(text).data.signals) came.accepted.push(id);
        came.acceptedMs.push(performance.now() - due);
        came.numbers.push(number);
        came.answeredAt.push(sharedNow());
        return;
      }
      if (statusCode === 503) {
        came.refused++;
        const retryAfter = headers['retry-after'];
        if (retryAfter === undefined) came.rude++;
        if (waits) await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000));
        return;
      }
    } catch {
      // Counted below: nobody was told anything.
    }
    came.other[told] = (came.other[told] ?? 0) + 1;
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
    // An open loop: who comes does not wait for who came before. What is late is counted from when it was due.
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
  came.elapsedMs = performance.now() - began;
  await pool.close();
  return came;
}

process.on('message', (order: Run) => void run(order).then((came) => process.send?.(came)));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
