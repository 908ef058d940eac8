import { createHash } from 'node:crypto';
import type { BodyTail } from './event.ts';
import { keptFields, type PayloadField, type PayloadFormat } from './payload-format.ts';

/** A format as bodies are made by it, so that what it adds is serialised once and not for each signal. */
export interface PayloadShape {
  /** The same for formats that make the same bodies. */
  key: string;
  fields: readonly PayloadField[];
  flatten: boolean;
  /** What it adds to every body; null: nothing. */
  tail: BodyTail | null;
  /** The format's own size, which plans bound: as it is shown, in UTF-8. */
  formatBytes: number;
}

/** Prepares a format. */
export function shapeOf(format: PayloadFormat): PayloadShape {
  const fields = keptFields(format);
  const tail = tailOf(format);
  return {
    key: `${fields.join()} ${format.flatten} ${tail?.hash}`,
    fields,
    flatten: format.flatten,
    tail,
    formatBytes: formatBytes(format),
  };
}

/** The size of a format as it is shown, in UTF-8. */
export function formatBytes(format: PayloadFormat): number {
  return Buffer.byteLength(JSON.stringify(format));
}

function tailOf({ custom }: PayloadFormat): BodyTail | null {
  if (Object.keys(custom).length === 0) return null;
  const text = JSON.stringify(custom).slice(1);
  return { hash: createHash('sha256').update(text).digest('hex'), text, bytes: Buffer.byteLength(text) };
}
