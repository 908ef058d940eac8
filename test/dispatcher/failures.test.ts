import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, close, hang, type Receiver, raw, startReceiver, status } from '../support/receiver.ts';
import { CLOSED_PORT, createHarness, type HarnessOptions, settle } from './harness.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

/** One attempt answered by `answer`; `after` runs once the request has arrived. */
async function attempt(answer: Answer, url = receiver.url, options: HarnessOptions = {}, timeoutMs = 0) {
  receiver.answer = answer;
  const before = receiver.requests.length;
  const harness = await createHarness(options);
  const { id } = await harness.endpoint({ url, timeout_seconds: 5 });
  const [deliveryId = ''] = await harness.enqueue(id);
  await harness.dispatcher.start();
  if (timeoutMs > 0) {
    await receiver.received(before + 1);
    await settle(); // until the response has been read
    harness.clock.advance(timeoutMs);
  }
  await harness.committed(1);
  const log = await harness.delivery(deliveryId);
  await harness.dispatcher.stop(0);
  const [record] = log.attempts;
  if (record === undefined) throw new Error('no attempt was recorded');
  return {
    log,
    record,
    code: record.error?.code ?? null,
    wait: (log.nextAttemptAt ?? 0) - harness.clock.now(),
  };
}

describe('an attempt fails', () => {
  it('as http_status on any other status, and stores the response', async () => {
    const { log, code, record, wait } = await attempt(status(500, {}, 'oops'));
    expect([log.status, code, record.response?.status, record.response?.body, wait]).toEqual([
      'retrying',
      'http_status',
      500,
      'oops',
      1_000,
    ]);
  });

  it('as redirect, without following it', async () => {
    const { code } = await attempt(status(302, { location: receiver.url }));
    expect(code).toBe('redirect');
    expect(receiver.requests).toHaveLength(1);
  });

  it('as connection_refused if nothing listens', async () => {
    expect((await attempt(hang, `http://127.0.0.1:${CLOSED_PORT}/`)).code).toBe('connection_refused');
  });

  it('as connection_reset, without a second try, if a new connection closes unanswered', async () => {
    expect((await attempt(close)).code).toBe('connection_reset');
    expect(receiver.requests).toHaveLength(1);
  });

  it('as invalid_response on anything other than HTTP', async () => {
    expect((await attempt(raw('SSH-2.0-OpenSSH\r\n\r\n'))).code).toBe('invalid_response');
    expect((await attempt(raw(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`))).code).toBe(
      'invalid_response',
    );
  });

  it('as timeout if no response arrives, even if the head arrives byte by byte', async () => {
    expect((await attempt(hang, receiver.url, {}, 5_000)).code).toBe('timeout');
    const dripping = await attempt(raw('HTTP/1.1 200 OK\r\nx-slow: '), receiver.url, {}, 5_000);
    expect([dripping.code, dripping.record.response]).toEqual(['timeout', null]);
  });

  it('as dns if the name does not resolve', async () => {
    const lookup = async () => [];
    expect((await attempt(hang, 'https://example.com/', { network: { lookup } })).code).toBe('dns');
  });

  it('as blocked_target if a previously public name resolves to a private address', async () => {
    const lookup = async () => ['127.0.0.1'];
    const { code, record } = await attempt(hang, 'https://example.com/', { allow: [], network: { lookup } });
    expect(code).toBe('blocked_target');
    expect(JSON.stringify(record)).not.toContain('127.0.0.1');
    expect(receiver.requests).toHaveLength(0);
  });

  it('as blocked_target if the exemption of a saved target has been removed', async () => {
    expect((await attempt(hang, receiver.url, { allow: [] })).code).toBe('blocked_target');
  });

  it('as tls if the receiver does not support TLS', async () => {
    expect((await attempt(hang, receiver.url.replace('http:', 'https:'))).code).toBe('tls');
  });
});

describe('a 2xx with a complete head', () => {
  it('is a success even if its body stalls past the timeout', async () => {
    const { log, code } = await attempt(
      raw('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
      receiver.url,
      {},
      5_000,
    );
    expect([log.status, code]).toEqual(['delivered', null]);
  });

  it('is a success even if its connection breaks in the middle of the body', async () => {
    const broken = raw('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', true);
    const { log, record } = await attempt(broken);
    expect([log.status, record.response?.body]).toEqual(['delivered', 'half']);
  });

  it('is read up to 64 KB, stored up to 16 KB, and not decompressed', async () => {
    const endless: Answer = (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const more = () => {
        while (!response.destroyed && response.write('é'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    const { log, record } = await attempt(endless);
    expect(log.status).toBe('delivered');
    expect(record.response?.body).toBe('é'.repeat(8_192));
  });

  it.each([
    ['Early Hints', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['a Continue that nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [
      'several of both',
      'HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 100 C\r\n\r\n',
    ],
  ])('is recognised after informational responses: %s', async (_, interim) => {
    const final = 'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\nHTTP/1.1 100 C\r\n';
    const { log, record } = await attempt(raw(interim + final));
    expect([log.status, log.attemptCount, record.response?.status]).toEqual(['delivered', 1, 200]);
    expect(record.response?.body).toBe('HTTP/1.1 100 C\r\n');
  });

  it('is recognised after informational responses on a reused connection', async () => {
    const harness = await createHarness();
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.dispatcher.start();
    receiver.answer = (_, { connection }, socket) => {
      expect(connection).toBe(1);
      socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK');
    };
    for (const count of [1, 2]) {
      const [deliveryId = ''] = await harness.enqueue(id);
      harness.dispatcher.nudge([{ endpointId: id, tenantId: 'ten_a' }]);
      await harness.committed(count);
      await settle();
      expect((await harness.delivery(deliveryId)).status).toBe('delivered');
    }
    await harness.dispatcher.stop(0);
  });
});

describe('Retry-After', () => {
  it('is honoured on 429 and 503, and ignored otherwise', async () => {
    expect((await attempt(status(429, { 'retry-after': '90' }))).wait).toBe(90_000);
    expect((await attempt(status(503, { 'retry-after': '7200' }))).wait).toBe(3_600_000);
    expect((await attempt(status(500, { 'retry-after': '90' }))).wait).toBe(1_000);
  });
});
