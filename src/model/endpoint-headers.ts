import { z } from 'zod';
import { boundedRecord } from './text.ts';

const MOST_HEADERS = 10;
/** The last characters of a value shorter than this would give half of it away. */
const SHOWN_FROM = 8;

/** RFC 9110, section 5.1: a token. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5, without obsolete text: visible ASCII, with spaces and tabs between. */
const VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Headers of the connection, the body and the signature, which callers cannot set. */
const OWNED = new Set([
  ...[
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'date',
    'expect',
  ],
  ...['host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'],
  ...['traceparent', 'tracestate', 'x-event-type'],
]);
const OWNED_BEGINNING = /^(?:proxy-|sec-|webhook-|x-service-|x-mcp-)/;

/** An endpoint's own headers, as callers send them. */
export const endpointHeadersSchema = boundedRecord(
  z
    .string()
    .max(100)
    .regex(NAME, "must be a header name: letters, digits and !#$%&'*+-.^_`|~")
    .refine((name) => !isOwned(name), 'is a header that is set by HTTP or the signature'),
  z.string().max(4_096).regex(VALUE, 'must be visible ASCII characters, without spaces at the ends'),
  MOST_HEADERS,
)
  .refine(hasEachOnce, 'must name each header once; names are case-insensitive')
  .describe(
    'Your own headers, sent with every delivery, such as `Authorization`: up to 10. They are encrypted at rest; only the last 4 ' +
      'characters of each value are returned.',
  );
export type EndpointHeaders = z.output<typeof endpointHeadersSchema>;

/** Headers as they are shown: the last 4 characters of each value, nothing of a short one. */
export function shownHeaders(headers: EndpointHeaders): Record<string, string> {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    value.length < SHOWN_FROM ? '' : value.slice(-4),
  ]);
  return Object.fromEntries(shown);
}

function isOwned(name: string): boolean {
  const lower = name.toLowerCase();
  return OWNED.has(lower) || OWNED_BEGINNING.test(lower);
}

function hasEachOnce(headers: Record<string, string>): boolean {
  const names = Object.keys(headers);
  return new Set(names.map((name) => name.toLowerCase())).size === names.length;
}
