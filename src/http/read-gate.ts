import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { holdReading, resumeReading } from '../lib/sockets.ts';
import { oncePerTurn } from './turns.ts';

/** After this time in one poll, no other connection is read in it. A read takes 20 us, and up to 0.5 ms if it is large: it is into 64 KB of fresh memory. */
const MOST_MS = 5;
/** Connections that are read again per turn of the event loop: in the turn after a poll that took too long, and otherwise. */
const RESUMED = { afterFull: 64, otherwise: 512 };

/** Limits how many connections are read in one turn of the event loop. */
export interface ReadGate {
  /** To be called for each connection, before it is read. */
  add(socket: Socket): void;
  /** To be called whenever it was read. */
  wasRead(socket: Socket): void;
}

/**
 * libuv reads all ready connections in one poll: 1,500 that each sent 60 KB at the same moment, without an account, kept the event loop for 0.5 s. After
 * some time, all other connections are stopped, a microsecond each, which libuv respects within the poll. They are read again in later turns,
 * in order; those that were read before alternate with new ones, so that callers of open connections do not wait for all that were opened by others.
 */
export function createReadGate(clock: Pick<Clock, 'monotonic'>): ReadGate {
  const open = new Set<Socket>();
  const readBefore = new WeakSet<Socket>();
  /** Connections that are stopped. */
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
