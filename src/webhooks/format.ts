import { flatKey, keptFields, type PayloadFormat } from '../model/payload-format.ts';
import type { Signal } from '../model/signal.ts';
import { signalPayload } from './payload.ts';

/** The body of `signal.detected` as a format shapes it, without its `signature` member; null is the standard payload. */
export function formattedPayload(signal: Signal, format: PayloadFormat | null): string {
  if (format === null) return signalPayload(signal);
  const kept = keptFields(format).flatMap((field): [string, unknown][] => {
    const value: unknown = signal[field];
    if (!format.flatten || typeof value !== 'object' || value === null) return [[field, value]];
    return Object.entries(value).map(([member, inner]) => [flatKey(field, member), inner]);
  });
  return JSON.stringify(Object.fromEntries([...kept, ...Object.entries(format.custom)]));
}

/**
 * The bodies of one signal, made once for each format that is in use. Endpoints with the same format share one string:
 * a thousand of them cost no more memory than one.
 */
export function createPayloads(signal: Signal): (format: PayloadFormat | null) => string {
  const made = new Map<string, string>();
  return (format) => {
    const key = JSON.stringify(format);
    const known = made.get(key);
    if (known !== undefined) return known;
    const body = formattedPayload(signal, format);
    made.set(key, body);
    return body;
  };
}
