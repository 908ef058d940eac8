import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createAlarms } from '../../src/dispatcher/alarms.ts';
import type { Pools, RequestHandler } from '../../src/dispatcher/pools.ts';
import { Exchange, type SendResult } from '../../src/dispatcher/send.ts';
import { createManualClock } from '../support/manual-clock.ts';

const MEGABYTE = 1_048_576;
const REQUEST = {
  method: 'POST',
  origin: 'http://a.example',
  path: '/',
  headers: [],
  timeoutMs: 10_000,
} as const;

class Sending extends Exchange {
  readonly tenantId = 'ten_a';
  result: SendResult | null = null;
  protected mayRepeat = () => false;
  protected onResult(result: SendResult): void {
    this.result = result;
  }
  begin(): this {
    this.send({ ...REQUEST, headers: [], body: Buffer.alloc(0) });
    return this;
  }
}

/** A request whose response has begun. `data` takes chunks of its body. */
function answered() {
  const clock = createManualClock();
  let handler: RequestHandler | null = null;
  const pools = {
    dispatch(_: string, __: unknown, given: RequestHandler) {
      handler = given;
    },
  };
  const deps = {
    clock,
    pools: pools as unknown as Pools,
    deadlines: createAlarms<Exchange>(clock, () => {}),
  };
  const sending = new Sending(deps).begin();
  const controller = { abort: () => {} } as never;
  const given = handler as RequestHandler | null;
  if (given === null) throw new Error('nothing was sent');
  given.onRequestStart(controller, {});
  given.onResponseStart(controller, 200, {}, 'OK');
  return {
    sending,
    data: (chunk: Buffer) => given.onResponseData(controller, chunk),
    end: () => given.onResponseEnd(controller, {}),
  };
}

test('the body is what arrived, in chunks of any size', () => {
  for (const sizes of [[5], [1, 1, 1, 1], [1, 2, 1_000, 3], [7_000, 7_000, 7_000], [1, 16_383], [20_000]]) {
    const { sending, data, end } = answered();
    const text = sizes.map((size, n) => String.fromCharCode(97 + n).repeat(size)).join('');
    let at = 0;
    for (const size of sizes) {
      data(Buffer.from(text.slice(at, at + size)));
      at += size;
    }
    end();
    expect(sending.result?.response?.body).toBe(text.slice(0, 16_384));
  }
});

test('unfinished responses in chunks of a byte take little more memory than their bytes', () => {
  const chunk = Buffer.from('a');
  const before = memory();
  const all = Array.from({ length: 40 }, answered);
  for (const { data } of all) for (let n = 0; n < 16_000; n++) data(chunk);
  expect(memory() - before).toBeLessThan(5 * MEGABYTE); // an object for each chunk took 80 MB
  for (const { end } of all) end();
  expect(all.every(({ sending }) => sending.result?.response?.body.length === 16_000)).toBe(true);
});

/** Bytes in use inside and outside the heap, after garbage collection. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
