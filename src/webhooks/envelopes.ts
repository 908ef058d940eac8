import type { EventRow } from '../model/event.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { ShapedBody } from './format.ts';
import { eventEnvelope } from './payload.ts';
import { eventNotice } from './presets/event-notice.ts';
import type { Notice } from './presets/notice.ts';
import { presetBody } from './presets/preset-body.ts';

/** The bodies of one event that is sent in an envelope, or as the message of a service; each made once. */
export function createEnvelopes(
  event: EventRow,
  notice?: Notice,
): (receiver: Pick<Receiver, 'shape'>) => ShapedBody {
  const made = new Map<string, ShapedBody>();
  return ({ shape }) => {
    const key = isPresetShape(shape) ? shape.key : '';
    const known = made.get(key);
    if (known !== undefined) return known;
    const text = isPresetShape(shape)
      ? presetBody(shape.preset, notice ?? eventNotice(event))
      : eventEnvelope(event);
    const body = { body: text };
    made.set(key, body);
    return body;
  };
}
