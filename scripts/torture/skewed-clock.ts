import { readFileSync } from 'node:fs';

// Loaded before a server (node --import): shifts its wall clock by the number of milliseconds in a file, which is read
// repeatedly. The monotonic clock is not shifted, as when a machine's clock is set.
const file = process.env.TORTURE_CLOCK_FILE ?? '';
const realNow = Date.now;
const RealDate = Date;
let offsetMs = 0;

function read(): void {
  try {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // The file is being written: the offset stays until the next read.
  }
}

class SkewedDate extends RealDate {
  static override now(): number {
    return realNow() + offsetMs;
  }
  constructor(...args: [] | [number | string]) {
    super(...((args.length === 0 ? [realNow() + offsetMs] : args) as [number]));
  }
}

read();
setInterval(read, 50).unref();
globalThis.Date = SkewedDate as DateConstructor;
