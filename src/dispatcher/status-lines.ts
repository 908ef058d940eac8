const STATUS_AT = 'HTTP/1.1 '.length;
const [ZERO, ONE, TWO] = [0x30, 0x31, 0x32];
const [LF, CR] = [0x0a, 0x0d];

/**
 * Follows the heads of a reply up to its final one, and makes 102 of each 100 before it, in place. A client must pass over
 * any 1xx, asked for or not (RFC 9110, section 15.2); undici does, but for 100, at which it ends the connection.
 */
export class StatusLines {
  /** Bytes of the present head's line so far. */
  #place = 0;
  #inStatusLine = true;
  #isFinal = false;
  #hasZero = false;

  /** A request goes out: what comes next is its reply. */
  begin(): void {
    this.#place = 0;
    this.#inStatusLine = true;
    this.#isFinal = false;
  }

  /** Takes the next bytes that came. */
  look(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length && !this.#isFinal; i++) {
      const byte = bytes[i];
      if (byte === CR) continue;
      if (byte === LF) this.#endLine();
      else if (this.#inStatusLine && byte !== undefined) bytes[i] = this.#lookAtStatus(byte);
      else this.#place++;
    }
  }

  /** An empty line ends an interim head, and means nothing before one. */
  #endLine(): void {
    this.#inStatusLine = this.#place === 0;
    this.#place = 0;
  }

  #lookAtStatus(byte: number): number {
    const digit = this.#place++ - STATUS_AT;
    if (digit === 0) this.#isFinal = byte !== ONE;
    if (digit === 1) this.#hasZero = byte === ZERO;
    return digit === 2 && this.#hasZero && byte === ZERO ? TWO : byte;
  }
}
