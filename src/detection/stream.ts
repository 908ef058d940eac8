import { Agent, WebSocket } from 'undici';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Connect } from '../webhooks/connect.ts';
import { SourceFault } from './source-fault.ts';

/** A stream that is silent for this long has no more for now. */
const IDLE_MS = 3_000;
const CONNECT_MS = 15_000;
/** One message; a post is far below. */
const MAX_MESSAGE = 1_048_576;

/** What is listened to, and how long. */
export interface StreamOptions {
  url: URL;
  headers: Record<string, string>;
  /** The most that is listened. */
  limitMs: number;
  signal: AbortSignal | null;
  /** Takes a message; `end` ends the listening. */
  take(text: string, end: () => void): void;
}

/** Listens to a WebSocket until it sent enough, is silent, or the time is up. @throws SourceFault if it never opens */
export async function listenTo(
  { clock, connect }: { clock: Clock; connect: Connect },
  { url, headers, limitMs, signal, take }: StreamOptions,
): Promise<void> {
  const agent = new Agent({
    connect: (options, callback) => void connect(options, callback),
    webSocket: { maxPayloadSize: MAX_MESSAGE },
  });
  const socket = new WebSocket(url, { dispatcher: agent, headers });
  const over = Promise.withResolvers<void>();
  let opened = false;
  let ended = false;
  const end = () => {
    ended = true; // data received after the last message is dropped
    over.resolve();
  };
  const broken = () => {
    if (opened) end();
    else over.reject(new SourceFault('network', 'The stream could not be opened.'));
  };
  let idle: Timer = clock.after(CONNECT_MS, broken);
  const wait = () => {
    idle.cancel();
    idle = clock.after(IDLE_MS, end);
  };
  const limit = clock.after(limitMs, end);
  socket.addEventListener('open', () => {
    opened = true;
    wait();
  });
  socket.addEventListener('message', ({ data }) => {
    if (ended) return;
    wait();
    if (typeof data === 'string' && data.length <= MAX_MESSAGE) take(data, end);
  });
  socket.addEventListener('error', broken);
  socket.addEventListener('close', broken);
  signal?.addEventListener('abort', end, { once: true });
  try {
    await over.promise;
  } finally {
    signal?.removeEventListener('abort', end);
    idle.cancel();
    limit.cancel();
    socket.close();
    await agent.destroy().catch(() => {});
  }
}
