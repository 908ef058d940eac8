import { createHash } from 'node:crypto';
import type { BodyTail } from './event.ts';

// The store's writer thread prepares formats, so this file does not load zod.

/** Fields of the signal payload that a format can name, in the payload's order (specification, section 2). */
export const PAYLOAD_FIELDS = [
  'signal_id',
  'signal_type',
  'classification',
  'icp_score',
  'timestamp',
  'prospect',
  'company',
  'platform',
  'excerpt',
  'icp_profile_name',
  'profile_url',
] as const;
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];

/** Services that events can be formatted for. */
export const PRESETS = ['slack', 'discord', 'teams', 'ntfy'] as const;
export type Preset = (typeof PRESETS)[number];

/** An endpoint's selection of fields for `signal.detected`. */
export interface CustomFormat {
  include?: PayloadField[] | undefined;
  exclude?: PayloadField[] | undefined;
  flatten: boolean;
  custom: Record<string, string | number | boolean>;
}
/** Formats every event as a message for a service; `topic` is for ntfy only. */
export interface PresetFormat {
  preset: Preset;
  topic?: string;
}
/** The format of an endpoint's payloads. */
export type PayloadFormat = CustomFormat | PresetFormat;

/** Whether a format is a preset. */
export function isPreset(format: PayloadFormat): format is PresetFormat {
  return 'preset' in format;
}

/** The fields that a format keeps, in the payload's order. */
export function keptFields({ include, exclude }: Pick<CustomFormat, 'include' | 'exclude'>): PayloadField[] {
  if (include !== undefined) return PAYLOAD_FIELDS.filter((field) => include.includes(field));
  return PAYLOAD_FIELDS.filter((field) => !exclude?.includes(field));
}

/** A format, prepared for building bodies. */
export type PayloadShape = CustomShape | PresetShape;

interface ShapeBasis {
  /** Equal for formats whose bodies differ at most in their tails. */
  key: string;
  /** What the format adds at the end, which is serialised once, not for each event: custom members, or ntfy's topic; null if nothing. */
  tail: BodyTail | null;
  /** Size of the format as JSON in UTF-8, which plans limit. */
  formatBytes: number;
}

/** Formats every event as a message for a service. */
export interface PresetShape extends ShapeBasis {
  preset: PresetFormat;
}

/** A selection of fields. */
export interface CustomShape extends ShapeBasis {
  preset: null;
  fields: readonly PayloadField[];
  flatten: boolean;
}

/** Prepares a format. */
export function shapeOf(format: PayloadFormat): PayloadShape {
  if (isPreset(format)) return presetShape(format);
  const fields = keptFields(format);
  const { flatten, custom } = format;
  const tail = Object.keys(custom).length === 0 ? null : tailOf(custom);
  return {
    preset: null,
    key: `${fields.join()} ${flatten} ${tail !== null}`,
    fields,
    flatten,
    tail,
    formatBytes: formatBytes(format),
  };
}

export function presetShape(format: PresetFormat): PresetShape {
  const { preset, topic } = format;
  const tail = topic === undefined ? null : tailOf({ topic });
  return { key: `preset ${preset}`, tail, preset: format, formatBytes: formatBytes(format) };
}

/** Size of a format as JSON in UTF-8. */
export function formatBytes(format: PayloadFormat): number {
  return Buffer.byteLength(JSON.stringify(format));
}

/** The size that counts towards the limit on all formats together: none for the standard payload. */
export function storedFormatBytes(format: PayloadFormat | null): number {
  return format === null ? 0 : formatBytes(format);
}

function tailOf(members: object): BodyTail {
  const text = JSON.stringify(members).slice(1);
  return { hash: createHash('sha256').update(text).digest('hex'), text, bytes: Buffer.byteLength(text) };
}

/** Whether a shape is a preset. */
export function isPresetShape(shape: PayloadShape | null): shape is PresetShape {
  return shape !== null && shape.preset !== null;
}
