import { setTimeout as sleep } from 'node:timers/promises';

/** Calls the API once, with a timeout of ten seconds. */
export async function call(url: string, key: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
}

/** Posts continuously, and records what was sent and what was accepted. */
export interface Poster {
  attempted: Set<string>;
  accepted: Set<string>;
  /** Responses by status; `none` without a response. */
  answers: Map<string, number>;
  stop(): Promise<void>;
}

const BATCH = 5;
const EVERY_MS = 250;

/** Posts to each of `urls` in turn. */
export function startPoster(urls: readonly string[], key: string, name: string): Poster {
  const attempted = new Set<string>();
  const accepted = new Set<string>();
  const answers = new Map<string, number>();
  const underWay = new Set<Promise<void>>();
  let stopped = false;
  let next = 0;
  let batches = 0;

  /** Each batch is sent once: the records show whether a failed one was stored. */
  async function post(): Promise<void> {
    const to = urls[batches++ % urls.length] ?? '';
    const posts = Array.from({ length: BATCH }, () => `https://torture.example/${name}/${next++}`);
    for (const one of posts) attempted.add(one);
    const signals = posts.map((post_url) => ({
      platform: { name: 'forum', post_url },
      text: 'We need a new plumber, who can you recommend?',
    }));
    let status = 'none';
    try {
      const response = await call(to, key, '/v1/signals/batch', { signals });
      const body = (await response.json()) as { data?: { results: { index: number; status: string }[] } };
      status = String(response.status);
      for (const { index, status } of body.data?.results ?? [])
        if (status !== 'rejected') accepted.add(posts[index] ?? '');
    } catch {
      // No response, or a part of one: nothing was accepted.
    }
    answers.set(status, (answers.get(status) ?? 0) + 1);
  }

  const running = (async () => {
    while (!stopped) {
      const one = post().finally(() => underWay.delete(one));
      underWay.add(one);
      await sleep(EVERY_MS);
    }
    await Promise.all(underWay);
  })();

  return {
    attempted,
    accepted,
    answers,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
