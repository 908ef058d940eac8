/**
 * Lets go at once of the memory of bytes that nobody else reads: the garbage collector, which does not see what lies outside
 * of its heap, is late with it. Where they share their memory with others (Node's pool of small buffers), nothing happens.
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
