import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest, FastifySchema, FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { measureJson } from '../lib/json.ts';
import { DomainError, type Fault, invalidAt } from '../model/errors.ts';
import { createBodyTurns } from './body-turns.ts';
import { type Checked, check, namesOf, type RequestPart, thinOut, toPointer } from './faults.ts';

const MAX_DEPTH = 32;
/**
 * The maximum number of values in all lists and objects of a body. The largest documented batch has 33,000; 5 MiB can
 * contain 2.5 million, which take a second to parse and several to traverse.
 */
const MAX_VALUES = 50_000;
/**
 * A text of more is not read to its end. With up to this number, members that are not known are left out first, so that the error can name
 * them; both passes over 200,000 values take 10 ms. With 500,000 they took 24, and an export beside 24 such bodies 0.31 s.
 */
const MOST_SCANNED = 4 * MAX_VALUES;
/** An escaped NUL or surrogate. Unescaped ones cannot occur, because the body is valid UTF-8 and JSON. */
const SUSPECT_ESCAPE = /\\u(0000|[dD][89a-fA-F])/;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route checks the strings of each item itself, so that one invalid item does not affect the others. */
    itemwise?: true;
    /** The maximum number of values in all lists and objects of the body, if lower than usual. */
    maxValues?: number;
  }
}

/** The only content type is JSON: strict UTF-8, at most 32 levels deep, with text that every store can keep. */
export function addJsonBody(app: FastifyInstance): void {
  const parseSuspect = app.getDefaultJsonParser('error', 'error');
  const parsePlain = app.getDefaultJsonParser('ignore', 'ignore');
  const inTurn = createBodyTurns();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    // Many clients send the content type with every request, including DELETE and POST without a body.
    if (bytes.length === 0 && needsNoBody(request.routeOptions.schema)) return done(null, undefined);
    inTurn(request.owner, bytes.length, () => read(request, bytes, done));
  });

  function read(
    request: FastifyRequest,
    bytes: Buffer,
    done: (error: Error | null, body?: unknown) => void,
  ): void {
    if (!isUtf8(bytes)) {
      done(invalidAt('', 'The body is not UTF-8.'));
      return;
    }
    const text = bytes.toString('utf8');
    // Checked on the text before parsing: a rejected body costs one pass and creates no objects.
    const { depth, members, values } = measureJson(text, MAX_DEPTH, MOST_SCANNED);
    if (depth > MAX_DEPTH) {
      done(invalidAt('', `The body is nested deeper than ${MAX_DEPTH} levels.`));
      return;
    }
    const { maxValues = MAX_VALUES } = request.routeOptions.config;
    const isScanned = values <= MOST_SCANNED;
    const thin = isScanned
      ? thinOut(text, members, new Set(namesOf(request.routeOptions.schema?.body)))
      : text;
    if ((thin === text ? values : measureJson(thin, MAX_DEPTH).values) > maxValues) {
      done(
        invalidAt(
          '',
          `The body has more than ${maxValues} values: send fewer, and a batch in several requests.`,
        ),
      );
      return;
    }
    const escapes = text.includes('\\u');
    // Searching for each name at once takes a tenth of the time of searching for all of its spellings.
    const suspect = escapes || text.includes('__proto__') || text.includes('constructor');
    const parse = suspect ? parseSuspect : parsePlain;
    void parse(request, thin, (error, body) => {
      if (error !== null) return done(describeFault(thin, thin === text));
      const itemwise = request.routeOptions.config.itemwise === true;
      const fault = escapes && !itemwise && SUSPECT_ESCAPE.test(text) ? findBadText(body) : null;
      done(
        fault === null ? null : new DomainError('INVALID_REQUEST', fault.detail, { errors: [fault] }),
        body,
      );
    });
  }
}

/** The first string that cannot be stored or signed because it contains NUL or a lone surrogate. */
export function findBadText(value: unknown): Fault | null {
  const path = pathOfBadText(value);
  return path === null
    ? null
    : {
        pointer: toPointer(path.reverse()),
        detail: 'The text contains a NUL or an unpaired surrogate. Remove it.',
      };
}

/** Its path, innermost segment first: built only on the way back, because nearly every value is valid. */
function pathOfBadText(value: unknown): PropertyKey[] | null {
  if (typeof value === 'string') return isSound(value) ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const path = pathOfBadText(value[i]);
      if (path !== null) return [...path, i];
    }
    return null;
  }
  for (const key of Object.keys(value)) {
    const path = isSound(key) ? pathOfBadText(Reflect.get(value, key)) : [];
    if (path !== null) return [...path, key];
  }
  return null;
}

function isSound(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Parses again, only to find the position of the fault; in a shortened text it would differ. */
function describeFault(text: string, isWhole: boolean): DomainError {
  if (text.trim() === '') return invalidAt('', 'The body is empty. Send a JSON object.');
  try {
    JSON.parse(text);
    return invalidAt('', 'The body has a member named "__proto__" or "constructor", which is not allowed.');
  } catch (error) {
    const place =
      isWhole && error instanceof Error
        ? / at position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)
        : null;
    return invalidAt(
      '',
      `The body is not valid JSON${place === null ? '' : `:${place[0].replace(' at', ' fault at')}`}.`,
    );
  }
}

/**
 * Runs a route's zod schemas. The type provider's own compiler joins paths without escaping and drops the known names
 * of an object; its types and its OpenAPI transform do not depend on it.
 */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = toPart(httpPart);
  return (data) => {
    const checked = check(schema, data, part);
    return checked.ok ? { value: checked.value } : { error: refusal(checked, part) };
  };
};

/** The error for a part of a request that failed validation. */
export function refusal(checked: Checked<unknown> & { ok: false }, part: RequestPart): DomainError {
  const { faults, total, unknownNames } = checked;
  const code = part !== 'body' && unknownNames ? 'UNKNOWN_PARAMETER' : 'INVALID_REQUEST';
  const detail =
    total === 1
      ? (faults[0]?.detail ?? '')
      : `The ${part === 'body' ? 'body' : 'query'} has ${total} errors; see "errors".`;
  return new DomainError(code, detail, { errors: faults, errorsTotal: total });
}

function toPart(httpPart: string | undefined): RequestPart {
  return httpPart === 'querystring' || httpPart === 'params' || httpPart === 'headers' ? httpPart : 'body';
}

const NOTHING = z.strictObject({});

/**
 * Routes registered on `app` from now on that describe no body accept none, or the empty object that many clients
 * always send: ignoring a member would hide a mistake from the sender.
 */
export function refuseStrayBodies(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'GET' || route.method === 'HEAD' || route.schema?.body !== undefined) return;
    route.preValidation = [...[route.preValidation ?? []].flat(), refuseMembers];
  });
}

/** Whether a route with this schema can be called without a body. Fastify then validates null. */
function needsNoBody(schema: FastifySchema | undefined): boolean {
  const body = schema?.body;
  return body === undefined || (body instanceof z.ZodType && body.safeParse(null).success);
}

function refuseMembers(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  if (request.body === undefined || request.body === null) {
    done();
    return;
  }
  const checked = check(NOTHING, request.body, 'body');
  done(checked.ok ? undefined : refusal(checked, 'body'));
}
