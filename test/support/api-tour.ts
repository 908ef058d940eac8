import { readFileSync } from 'node:fs';
import type { ErrorCode } from '../../src/model/errors.ts';
import type { TestApp } from './app.ts';
import { deliverToNobody } from './fake-receiver.ts';

/** The recorded request and responses of an operation. */
export interface OperationExample {
  /** The request body. */
  request?: unknown;
  /** The first response of each status. */
  answers: Record<string, unknown>;
}

/** Real requests and responses, as the description shows them. */
export interface Examples {
  operations: Record<string, OperationExample>;
  problems: Record<string, unknown>;
  webhooks: Record<string, unknown>;
}

/** The file of the examples that the server adds to its description. */
export const EXAMPLES_FILE = 'src/api/openapi/examples.json';

export function keptExamples(): string {
  return readFileSync(EXAMPLES_FILE, 'utf8');
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sends a request of the tour and records it; returns the response body. */
export type Visit = (
  operationId: string,
  target: `${Method} /${string}`,
  body?: object,
  headers?: Record<string, string>,
  // biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read by later steps
) => Promise<any>;

interface StumbleOptions {
  body?: object | string;
  headers?: Record<string, string>;
}

/** Runs a tour, and records it. */
export interface Guide {
  examples: Examples;
  visit: Visit;
  /** Sends a request that is refused with `code`, and records the problem. */
  stumble(code: ErrorCode, target: `${Method} /${string}`, options?: StumbleOptions): Promise<void>;
  /** Delivers what is due to an endpoint, and records the body of each type of event. */
  deliver(to: Parameters<typeof deliverToNobody>[1]): Promise<void>;
}

/** A guide for the app `t` that records each visit. */
export function createGuide(t: TestApp): Guide {
  const examples: Examples = { operations: {}, problems: {}, webhooks: {} };

  async function send(target: string, body: object | string | undefined, headers: Record<string, string>) {
    const [method, url] = target.split(' ') as [Method, string];
    // Time advances by a fixed step between requests.
    t.clock.advance(1_250);
    return t.app.inject({ method, url, headers, ...(body && { payload: body }) });
  }

  const visit: Visit = async (operationId, target, body, headers) => {
    const answer = await send(target, body, { ...t.auth, ...headers });
    if (answer.statusCode >= 300) throw new Error(`${operationId}: ${answer.statusCode} ${answer.body}`);
    const seen = examples.operations[operationId] ?? { answers: {} };
    examples.operations[operationId] = seen;
    if (body !== undefined) seen.request ??= body;
    const content = answer.body === '' ? null : answer.json();
    seen.answers[answer.statusCode] ??= content;
    return content;
  };

  const stumble: Guide['stumble'] = async (code, target, options = {}) => {
    const answer = await send(target, options.body, { ...t.auth, ...options.headers });
    const problem = answer.json();
    if (problem.code !== code) throw new Error(`${target} is not refused with ${code}: ${answer.body}`);
    examples.problems[code] = problem;
  };

  const deliver: Guide['deliver'] = async (to) => {
    for (const body of (await deliverToNobody(t, to)).map((text) => JSON.parse(text))) {
      examples.webhooks[body.event ?? 'signal.detected'] ??= body;
    }
  };

  return { examples, visit, stumble, deliver };
}
