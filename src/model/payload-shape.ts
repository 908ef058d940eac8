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

/** A format prepared for making bodies. */
export type PayloadShape = CustomShape | PresetShape;

interface ShapeBasis {
  /** Equal for formats that make the same bodies. */
  key: string;
  /** Size of the format as JSON in UTF-8, which plans limit. */
  formatBytes: number;
}

/** Every event as a message for a service. */
export interface PresetShape extends ShapeBasis {
  preset: PresetFormat;
}

/** A choice of fields. Its custom members are serialised once, not for each signal. */
export interface CustomShape extends ShapeBasis {
  preset: null;
  fields: readonly PayloadField[];
  flatten: boolean;
  /** Its custom members; null if it has none. */
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

/** Size of a format as JSON in UTF-8. */
export function formatBytes(format: PayloadFormat): number {
  return Buffer.byteLength(JSON.stringify(format));
}

function tailOf({ custom }: CustomFormat): BodyTail | null {
  if (Object.keys(custom).length === 0) return null;
  const text = JSON.stringify(custom).slice(1);
  return { hash: createHash('sha256').update(text).digest('hex'), text, bytes: Buffer.byteLength(text) };
}

/** Whether a shape is that of a preset. */
export function isPresetShape(shape: PayloadShape | null): shape is PresetShape {
  return shape !== null && shape.preset !== null;
}
