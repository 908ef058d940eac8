import { z } from 'zod';
import { boundedRecord } from './text.ts';

const MOST_HEADERS = 10;
/** A value shorter than this would be half known by its last characters. */
const SHOWN_FROM = 8;

/** RFC 9110, section 5.1: a token. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5, without obsolete text: visible ASCII, with spaces and tabs between. */
const VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Headers of the connection, of the body, and of our own: what they say is ours to say. */
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

/** Headers that an endpoint adds to each of its deliveries, as a caller writes them. */
export const endpointHeadersSchema = boundedRecord(
  z
    .string()
    .max(100)
    .regex(NAME, "must be a header name: letters, digits and !#$%&'*+-.^_`|~")
    .refine((name) => !isOwned(name), 'is a header that HTTP or the signature owns'),
  z.string().max(4_096).regex(VALUE, 'must be visible ASCII characters, with spaces between'),
  MOST_HEADERS,
)
  .refine(hasEachOnce, 'must name each header once, in whatever case')
  .describe(
    'Headers of your own that every delivery carries, such as an `Authorization` of your gateway: at most 10. They are encrypted at rest, and shown by their last 4 characters only',
  );
export type EndpointHeaders = z.output<typeof endpointHeadersSchema>;

/** What is shown of them: of each value its last 4 characters, of a short one nothing. */
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
