/**
 * Lets go at once of the memory of bytes that are the caller's own: the garbage collector, which does not see what lies outside
 * of its heap, is late with it. Where they are less than half of that memory others may have the rest (Node's pool of small
 * buffers lends no larger parts), and nothing happens.
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength > buffer.byteLength / 2) buffer.transfer(0);
}
