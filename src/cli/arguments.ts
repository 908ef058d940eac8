import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { fromIso } from '../lib/clock.ts';

const dateTime = z.iso.datetime({ offset: true });

/** A parser of whole numbers in a range, for Commander. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

export function nonEmpty(text: string): string {
  const trimmed = text.trim();
  if (trimmed !== '' && trimmed.length <= 200) return trimmed;
  throw new InvalidArgumentError('It must have 1 to 200 characters.');
}

export function emailAddress(text: string): string {
  if (z.email().safeParse(text).success) return text;
  throw new InvalidArgumentError('It must be an email address such as owner@example.com.');
}

/** Unix milliseconds of an RFC 3339 date-time. */
export function instant(text: string): number {
  if (dateTime.safeParse(text).success) return fromIso(text);
  throw new InvalidArgumentError('It must be a date-time such as 2027-01-31T00:00:00Z.');
}
