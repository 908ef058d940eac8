import { z } from 'zod';
import { fromIso } from '../lib/clock.ts';
import { normaliseDomain } from '../lib/network.ts';
import { parseUrl } from '../lib/text.ts';

/** Longer than any id. */
export const MAX_ID_CHARS = 64;
/** An RFC 3339 time has 35 characters with nanoseconds and zone. */
const MAX_TIME_CHARS = 40;
const MAX_EMAIL_CHARS = 254;
/** Browsers and proxies do not accept longer URLs either. */
export const MAX_URL_CHARS = 2_048;

/**
 * A single line of text, such as a name or a label, without control characters, which would break lines of
 * logs, mails and tables.
 */
export function lineText(maxChars: number) {
  return z
    .string()
    .trim()
    .max(maxChars)
    .refine(isLine, 'must not contain line breaks or other control characters');
}

/** A required name or label. Characters that reverse text would also misrepresent the text next to it. */
export function requiredLine(maxChars: number) {
  return lineText(maxChars)
    .min(1)
    .refine(keepsDirection, 'must not contain characters that change the direction of text');
}

/** Whether a text contains no control characters and no Unicode line separators. */
function isLine(text: string): boolean {
  return !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

/**
 * Whether a text contains no embeddings, overrides or isolates (UAX #9); directional marks, which some
 * languages need, are allowed.
 */
function keepsDirection(text: string): boolean {
  return !/[\u202a-\u202e\u2066-\u2069]/.test(text);
}

/** A time in a request. */
export const timeText = z.iso.datetime({ offset: true }).max(MAX_TIME_CHARS);

/** A time in a request, as Unix milliseconds. */
export const timeInput = timeText.transform(fromIso);

/** An email address, in lower case. */
export const emailInput = z
  .string()
  .trim()
  .toLowerCase()
  .max(MAX_EMAIL_CHARS)
  .pipe(z.email().max(MAX_EMAIL_CHARS));

/** A URL on the web. */
export const webUrl = z
  .string()
  .trim()
  // The URL parser ignores them.
  .overwrite((text) => text.replace(/[\t\n\r]/g, ''))
  .max(MAX_URL_CHARS)
  // Not `z.url()`, which parses texts of any length.
  .refine((text) => /^https?:\/\//i.test(text) && parseUrl(text) !== null, 'must be an http or https URL')
  .meta({ format: 'uri' });

/** An ID of one of our objects. */
export const idInput = z.string().min(1).max(MAX_ID_CHARS);

/**
 * A record of at most `maxMembers` members. They are counted before validation: 450,000 members would cause
 * as many errors.
 */
export function boundedRecord<V extends z.ZodType>(
  name: z.ZodString | ReturnType<typeof lineText>,
  value: V,
  maxMembers: number,
) {
  return z
    .preprocess(
      (given, context) => {
        if (countMembers(given) <= maxMembers) return given;
        context.addIssue({ code: 'custom', message: `must have at most ${maxMembers} members` });
        return z.NEVER;
      },
      z.record(name, value),
    )
    .meta({ maxProperties: maxMembers });
}

function countMembers(given: unknown): number {
  return typeof given === 'object' && given !== null ? Object.keys(given).length : 0;
}

/** The domain of a company in a request, including URLs of web sites, normalised for comparison. */
export const domainSchema = z
  .string()
  .max(2_000)
  .transform((text, context) => {
    const domain = normaliseDomain(text);
    if (domain !== null) return domain;
    context.addIssue({ code: 'custom', message: 'must be a domain such as "example.com"' });
    return z.NEVER;
  });

/** A domain to search for. Text that is not a domain matches nothing. */
export const domainFilter = z
  .string()
  .max(2_000)
  .transform((text) => normaliseDomain(text) ?? text.toLowerCase());
