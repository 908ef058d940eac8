/**
 * Releases the memory of a buffer that the caller owns; the garbage collector is slow to free memory outside
 * its heap. Does nothing if the bytes are less than half of their ArrayBuffer, because the rest may be in use
 * (Node's pool of small buffers).
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength > buffer.byteLength / 2) buffer.transfer(0);
}
