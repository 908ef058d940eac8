import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { fromIso } from '../lib/clock.ts';
import { requiredLine } from '../model/text.ts';
import { CommandError, EXIT } from './ports.ts';

const name = requiredLine(200);
const dateTime = z.iso.datetime({ offset: true });

/** A parser of whole numbers in a range, for Commander. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Must be a whole number from ${min} to ${max}.`);
  };
}

/** A name, as forms and the API accept it. */
export function nameText(text: string): string {
  const read = name.safeParse(text);
  if (read.success) return read.data;
  throw new InvalidArgumentError(
    'Must have 1 to 200 characters, without line breaks or other control characters.',
  );
}

export function emailAddress(text: string): string {
  if (z.email().safeParse(text).success) return text;
  throw new InvalidArgumentError('Must be an email address such as owner@example.com.');
}

/** Unix milliseconds of an RFC 3339 date-time. */
export function instant(text: string): number {
  if (dateTime.safeParse(text).success) return fromIso(text);
  throw new InvalidArgumentError('Must be a date and time such as 2027-01-31T00:00:00Z.');
}

/** Standard Webhooks: a key of 24 to 64 bytes. */
const SECRET_BYTES = { min: 24, max: 64 };

/** A webhook secret as displayed; a truncated copy is reported here instead of at every delivery. */
export function webhookSecret(text: string): string {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text.trim())?.[1] ?? '';
  const key = Buffer.from(encoded, 'base64');
  if (key.toString('base64') === encoded && key.length >= SECRET_BYTES.min && key.length <= SECRET_BYTES.max)
    return text.trim();
  throw new InvalidArgumentError(
    'Must be the whole secret that POST /v1/webhooks returned: whsec_ and base64, 50 characters in total.',
  );
}

/** A port from the environment; null if it is not set. @throws CommandError */
export function portOf(env: NodeJS.ProcessEnv, name = 'PORT'): number | null {
  const text = env[name]?.trim() || null;
  if (text === null) return null;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new CommandError(`${name}: must be a whole number from 0 to 65535, not "${text}".`, EXIT.config);
}
