/**
 * Releases the memory of a buffer that the caller owns: the garbage collector frees memory outside its heap late. Does
 * nothing when the bytes are less than half of their ArrayBuffer, as others may use the rest (Node's pool of small buffers).
 */
export function letGo({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength > buffer.byteLength / 2) buffer.transfer(0);
}
