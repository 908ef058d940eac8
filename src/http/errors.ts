import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { createFifo } from '../lib/queues.ts';
import { DomainError } from '../model/errors.ts';
import type { Problem, Problems } from './problems.ts';
import { API_VERSION, HSTS, isHttps } from './request-context.ts';
import { routeOf } from './request-log.ts';
import { oncePerTurn } from './turns.ts';

interface ErrorDeps {
  problems: Problems;
  logger: Logger;
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/**
 * Turns any thrown error into a problem document; errors that no caller can act on are logged and returned as
 * `INTERNAL`.
 */
export function createErrorHandler({ problems, logger }: ErrorDeps): ErrorHandler {
  return (error, request, reply) => {
    const problem = toProblem(error, request.routeOptions.bodyLimit);
    if (problem.code === 'INTERNAL') {
      logger.error(
        { err: error, request_id: request.id, method: request.method, route: routeOf(request) },
        'request failed',
      );
    }
    return problems.send(request, reply, problem);
  };
}

/**
 * Returns every error in a request as a problem document, unless a face has its own handler. On every face, nothing is rendered for a client
 * that disconnected before the body was complete: two thousand such log-ins, reset at once, blocked the process for 300 ms.
 */
export function addErrorHandler(app: FastifyInstance, handler: ErrorHandler): void {
  app.setErrorHandler(handler);
  app.addHook('onError', (request, reply, error, done) => {
    const isOfConnection = error === request.raw.errored;
    if (isOfConnection && reply.raw.destroyed) reply.hijack();
    else done();
  });
}

function toProblem(error: unknown, bodyLimit: number): Problem {
  if (error instanceof DomainError) return { code: error.code, detail: error.message, extra: error.extra };
  const { code, statusCode } = frameworkFault(error);
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { code: 'UNSUPPORTED_MEDIA_TYPE', detail: 'Send the body as "Content-Type: application/json".' };
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { code: 'PAYLOAD_TOO_LARGE', detail: `The body is larger than ${bodyLimit} bytes.` };
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { code: 'INVALID_REQUEST', detail: 'The length of the body does not match Content-Length.' };
    default:
      return statusCode >= 400 && statusCode < 500
        ? { code: 'INVALID_REQUEST', detail: 'The request could not be read.' }
        : {
            code: 'INTERNAL',
            detail: 'Something went wrong on our side. The error was logged with this request_id.',
          };
  }
}

/**
 * The code and status of an error of Fastify itself, or of an aborted body; other errors have neither, so that a bug
 * is never reported as 4xx.
 */
export function frameworkFault(error: unknown): { code: string; statusCode: number } {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) {
    return { code: '', statusCode: 500 };
  }
  const code = String(error.code);
  const aborted = code === 'ECONNRESET' || code === 'ERR_HTTP_CONTENT_LENGTH_MISMATCH';
  return { code, statusCode: code.startsWith('FST_') || aborted ? Number(error.statusCode) : 500 };
}

/**
 * Time for the caller to read the response before the connection is closed; closing at once would reset it unread.
 */
const LINGER_MS = 2_000;

interface ClientErrorDeps {
  problems: Problems;
  logger: Logger;
  clock: Clock;
  newId: NewId;
  baseUrl: string;
}

/** Responds to invalid HTTP that cannot be routed, and closes the connection. */
type ClientErrorHandler = (error: Error & { code?: string }, socket: Duplex) => void;

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';
/** Closing a connection takes 30 µs or more. */
const TIMEOUTS_PER_TURN = 10;

/** A handler for Node's `clientError`: malformed HTTP, unknown methods, oversized headers, incomplete requests. */
export function createClientErrorHandler(deps: ClientErrorDeps): ClientErrorHandler {
  /** Connections whose time is up, with their request if its head arrived. */
  const late = createFifo<{ socket: Duplex; request: unknown }>();

  const endLate = oncePerTurn(() => {
    for (let n = 0; n < TIMEOUTS_PER_TURN; n++) {
      const next = late.shift();
      if (next === undefined) return;
      // A request that arrived in the meantime is answered.
      if (messageOf(next.socket) === next.request) end(next.socket, TIMED_OUT);
    }
    endLate();
  });

  function end(socket: Duplex, code: string | undefined): void {
    // 408 on a connection that was never used could be taken for the response to its first request.
    const isUnused = socket instanceof Socket && socket.bytesRead === 0;
    if (code === 'ECONNRESET' || !socket.writable || isUnused || isAnswering(socket)) socket.destroy();
    else answer(deps, socket, problemOf(code), code);
  }

  return ({ code }, socket) => {
    if (code !== TIMED_OUT) return end(socket, code);
    // Node checks all connections at once: thousands that were opened together blocked the process for 0.3 s.
    late.push({ socket, request: messageOf(socket) });
    endLate();
  };
}

/**
 * Node drops CONNECT without a response, and answers an unknown `Expect` with an empty 417: neither explains what to
 * do.
 */
export function answerSpecialRequests(
  server: Server,
  deps: ClientErrorDeps,
  route: (
    request: IncomingMessage,
    response: InstanceType<typeof import('node:http').ServerResponse>,
  ) => void,
): void {
  server.on('connect', (_request, socket) => {
    answer(deps, socket, { code: 'INVALID_REQUEST', detail: 'CONNECT is not supported.' }, 'CONNECT');
  });
  server.on('checkExpectation', (request, response) => route(request, response));
}

function problemOf(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'INVALID_REQUEST', status: 431, detail: 'The headers are larger than 16 KiB.' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { code: 'PAYLOAD_TOO_LARGE', detail: 'The chunk extensions are larger than 16 KiB.' };
    case TIMED_OUT:
      return { code: 'INVALID_REQUEST', status: 408, detail: 'The request did not arrive in time.' };
    case 'HPE_INVALID_METHOD':
      return { code: 'INVALID_REQUEST', detail: 'The method is not a known HTTP method.' };
    default:
      return { code: 'INVALID_REQUEST', detail: 'The request is not valid HTTP.' };
  }
}

function answer(
  { problems, logger, clock, newId, baseUrl }: ClientErrorDeps,
  socket: Duplex,
  problem: Problem,
  reason: string | undefined,
): void {
  const requestId = newId('req');
  const { status, body } = problems.render(problem, { requestId });
  logger.info({ request_id: requestId, status, reason }, 'unroutable request');
  // Node no longer handles errors of this socket; a disconnected caller is not an error of the server.
  socket.on('error', () => socket.destroy());
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/problem+json',
      'X-Content-Type-Options: nosniff',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      `X-API-Version: ${API_VERSION}`,
      ...(isHttps(baseUrl) ? [`${HSTS.name}: ${HSTS.value}`] : []),
      'Cache-Control: no-store',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  clock.after(LINGER_MS, () => socket.destroy());
}

/** Whether a response to an earlier request on this connection is in progress; a second one would corrupt it. */
function isAnswering(socket: Duplex): boolean {
  const current = messageOf(socket);
  return typeof current === 'object' && current !== null && Reflect.get(current, '_headerSent') === true;
}

/** The response in progress on a connection. */
function messageOf(socket: Duplex): unknown {
  return Reflect.get(socket, '_httpMessage');
}
