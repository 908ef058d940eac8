import { createHash } from 'node:crypto';
import type { BodyTail } from './event.ts';
import {
  type CustomFormat,
  isPreset,
  keptFields,
  type PayloadField,
  type PayloadFormat,
  type PresetFormat,
} from './payload-format.ts';

/** A format as bodies are made by it. */
export type PayloadShape = CustomShape | PresetShape;

interface ShapeBasis {
  /** The same for formats that make the same bodies. */
  key: string;
  /** The format's own size, which plans bound: as it is shown, in UTF-8. */
  formatBytes: number;
}

/** Every event as a message of a service. */
export interface PresetShape extends ShapeBasis {
  preset: PresetFormat;
}

/** A choice of fields, prepared so that what it adds is serialised once and not for each signal. */
export interface CustomShape extends ShapeBasis {
  preset: null;
  fields: readonly PayloadField[];
  flatten: boolean;
  /** What it adds to every body; null: nothing. */
  tail: BodyTail | null;
}

/** Prepares a format. */
export function shapeOf(format: PayloadFormat): PayloadShape {
  if (isPreset(format)) {
    const key = `preset ${format.preset} ${format.topic ?? ''}`;
    return { key, preset: format, formatBytes: formatBytes(format) };
  }
  const fields = keptFields(format);
  const tail = tailOf(format);
  return {
    preset: null,
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

function tailOf({ custom }: CustomFormat): BodyTail | null {
  if (Object.keys(custom).length === 0) return null;
  const text = JSON.stringify(custom).slice(1);
  return { hash: createHash('sha256').update(text).digest('hex'), text, bytes: Buffer.byteLength(text) };
}

/** Whether it is a service's message. */
export function isPresetShape(shape: PayloadShape | null): shape is PresetShape {
  return shape !== null && shape.preset !== null;
}
