import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Calls the API of a real server, and returns the JSON of the response. @throws if it is not successful */
export async function call(url: string, key: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Posts `urls` as observed posts in one batch. */
export async function postSignals(url: string, key: string, urls: readonly string[]): Promise<void> {
  const signals = urls.map((post_url) => ({
    platform: { name: 'forum', post_url },
    text: 'We need a new plumber.',
  }));
  const { data } = await call(url, key, '/v1/signals/batch', { signals });
  if (data.created !== urls.length) throw new Error(`of ${urls.length} posts ${data.created} were created`);
}

/** Counts deliveries by endpoint and post, and records everything unexpected. */
export async function startCountingReceiver(
  answer: (response: ServerResponse) => void = (response) => response.end(),
) {
  const counts = new Map<string, number>();
  const unexpected: string[] = [];
  const secrets = new Map<string, string>();
  let total = 0;
  let open = 0;
  let mostAtOnce = 0;
  let wake: { at: number; resolve: () => void } | null = null;
  let changed = () => {};
  const awaited = new Map<string, () => void>();

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    mostAtOnce = Math.max(mostAtOnce, ++open);
    response.on('close', () => open--);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const path = request.url ?? '';
      const signature = createHmac('sha256', secrets.get(path) ?? '')
        .update(body)
        .digest('hex');
      if (request.headers['x-service-signature'] !== signature) unexpected.push(body.toString());
      const item = `${path} ${JSON.parse(body.toString()).platform.post_url}`;
      counts.set(item, (counts.get(item) ?? 0) + 1);
      awaited.get(item)?.();
      total++;
      if (wake !== null && total >= wake.at) wake.resolve();
      changed();
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The number of deliveries per `path post_url`. */
    counts,
    unexpected,
    /** The secret of each path's endpoint. */
    secrets,
    get total() {
      return total;
    },
    /** The maximum number of concurrent requests. */
    get mostAtOnce() {
      return mostAtOnce;
    },
    /** Resolves with the first delivery of `path post_url` from now on. */
    arrival: (item: string) => new Promise<void>((resolve) => awaited.set(item, resolve)),
    /** Resolves after `count` further deliveries: call it before triggering them, or some have arrived already. */
    afterMore: (count: number) =>
      new Promise<void>((resolve) => {
        wake = { at: total + count, resolve };
      }),
    /**
     * Waits until `done`, or until nothing has arrived for this long: on a busy machine, deliveries only take longer.
     */
    async until(done: () => boolean, quietMs = 20_000): Promise<void> {
      let seen = -1;
      let deadline = 0;
      while (!done() && (total > seen || Date.now() < deadline)) {
        if (total > seen) deadline = Date.now() + quietMs;
        seen = total;
        await new Promise<void>((resolve) => {
          changed = resolve;
          setTimeout(resolve, 250).unref();
        });
      }
    },
  };
}
