import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { holdReading, resumeReading } from '../lib/sockets.ts';
import { oncePerTurn } from './turns.ts';

/** Time for reading in one poll; connections that have not been read by then wait. A read takes 20 us, and up to 0.5 ms if it fills a new buffer of 64 KB. */
const MOST_MS = 5;
/** Waiting connections that are resumed per turn of the event loop: after a poll that used up its time, and otherwise. */
const RESUMED = { afterFull: 64, otherwise: 512 };

/** Limits how many connections are read in one turn of the event loop. */
export interface ReadGate {
  /** Must be called for each new connection. */
  add(socket: Socket): void;
  /** Must be called whenever data arrives. */
  wasRead(socket: Socket): void;
}

/**
 * libuv reads all ready connections in one poll: 1,500 unauthenticated connections that sent 60 KB each at the same moment blocked the event loop for 0.5 s.
 * After 5 ms, reading is stopped on all other connections, which takes about a microsecond each and takes effect within the same poll. They are resumed in
 * order in later turns; connections that have been read before alternate with new ones, so that open connections do not wait behind a flood of new ones.
 */
export function createReadGate(clock: Pick<Clock, 'monotonic'>): ReadGate {
  const open = new Set<Socket>();
  const readBefore = new WeakSet<Socket>();
  /** Connections on which reading is stopped. */
  const held = { known: new Set<Socket>(), fresh: new Set<Socket>() };
  /** When the first connection was read in this turn. */
  let began: number | null = null;
  let isFull = false;

  const nextTurn = oncePerTurn(() => {
    const most = isFull ? RESUMED.afterFull : RESUMED.otherwise;
    began = null;
    isFull = false;
    resume(held.known, held.fresh.size === 0 ? most : most / 2);
    resume(held.fresh, most / 2);
    if (held.known.size + held.fresh.size > 0) nextTurn();
  });

  function resume(sockets: Set<Socket>, most: number): void {
    let count = 0;
    for (const socket of sockets) {
      if (count++ === most) return;
      sockets.delete(socket);
      resumeReading(socket);
    }
  }

  function holdAll(): void {
    for (const socket of open)
      if (holdReading(socket)) (readBefore.has(socket) ? held.known : held.fresh).add(socket);
  }

  return {
    add(socket) {
      open.add(socket);
      socket.once('close', () => {
        open.delete(socket);
        held.known.delete(socket);
        held.fresh.delete(socket);
      });
    },
    wasRead(socket) {
      readBefore.add(socket);
      const now = clock.monotonic();
      if (began === null) {
        began = now;
        nextTurn();
      } else if (!isFull && now - began >= MOST_MS) {
        isFull = true;
        holdAll();
      }
    },
  };
}
