import type { BodyTail } from '../model/event.ts';
import { flatKey } from '../model/payload-format.ts';
import { type PayloadFormat, type PayloadShape, shapeOf } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import { signalPayload } from './payload.ts';
import { presetBody } from './presets/preset-body.ts';
import { type SignalStory, signalNotice } from './presets/signal-notice.ts';

/** A body of `signal.detected` without its `signature` member, and what ends it. */
export interface ShapedBody {
  body: string;
  tail?: BodyTail;
}

/** The body of `signal.detected` as a format shapes it; null is the standard payload. */
export function shapedPayload(
  signal: Signal,
  shape: PayloadShape | null,
  story: SignalStory | null = null,
): ShapedBody {
  if (shape === null) return { body: signalPayload(signal) };
  if (shape.preset !== null) return { body: presetBody(shape.preset, signalNotice(signal, story)) };
  const kept = shape.fields.flatMap((field): [string, unknown][] => {
    const value: unknown = signal[field];
    if (!shape.flatten || typeof value !== 'object' || value === null) return [[field, value]];
    return Object.entries(value).map(([member, inner]) => [flatKey(field, member), inner]);
  });
  const body = JSON.stringify(Object.fromEntries(kept));
  if (shape.tail === null) return { body };
  return { body: kept.length === 0 ? '{' : `${body.slice(0, -1)},`, tail: shape.tail };
}

/** As {@link shapedPayload}, in one piece. */
export function formattedPayload(signal: Signal, format: PayloadFormat | null): string {
  const { body, tail } = shapedPayload(signal, format === null ? null : shapeOf(format));
  return body + (tail?.text ?? '');
}

/** The bodies of one signal, made once for each shape that is in use. */
export function createPayloads(
  signal: Signal,
  story: (() => SignalStory) | undefined = undefined,
): (shape: PayloadShape | null) => ShapedBody {
  const made = new Map<string, ShapedBody>();
  return (shape) => {
    const key = shape?.key ?? '';
    const known = made.get(key);
    if (known !== undefined) return known;
    const body = shapedPayload(signal, shape, shape?.preset ? (story?.() ?? null) : null);
    made.set(key, body);
    return body;
  };
}
