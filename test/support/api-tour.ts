import { readFileSync } from 'node:fs';
import type { ErrorCode } from '../../src/model/errors.ts';
import type { TestApp } from './app.ts';
import { deliverToNobody } from './fake-receiver.ts';

/** An operation as it was seen at work. */
export interface OperationExample {
  /** The body that was sent. */
  request?: unknown;
  /** The first answer of each status. */
  answers: Record<string, unknown>;
}

/** Real requests and answers, as the description shows them. */
export interface Examples {
  operations: Record<string, OperationExample>;
  problems: Record<string, unknown>;
  webhooks: Record<string, unknown>;
}

/** Where the examples are kept that the server puts into its description. */
export const EXAMPLES_FILE = 'src/api/openapi/examples.json';

export function keptExamples(): string {
  return readFileSync(EXAMPLES_FILE, 'utf8');
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sends a request of the tour and keeps what came of it; answers the body. */
export type Visit = (
  operationId: string,
  target: `${Method} /${string}`,
  body?: object,
  headers?: Record<string, string>,
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape, read by the steps that follow
) => Promise<any>;

interface StumbleOptions {
  body?: object | string;
  headers?: Record<string, string>;
}

/** What a tour is done with; it notes what it sees. */
export interface Guide {
  examples: Examples;
  visit: Visit;
  /** Asks for something that is refused with `code`, and keeps the problem. */
  stumble(code: ErrorCode, target: `${Method} /${string}`, options?: StumbleOptions): Promise<void>;
  /** Delivers what is due to an endpoint, and keeps the body of each kind of event. */
  deliver(to: Parameters<typeof deliverToNobody>[1]): Promise<void>;
}

/** A guide to the app `t` that notes each visit. */
export function createGuide(t: TestApp): Guide {
  const examples: Examples = { operations: {}, problems: {}, webhooks: {} };

  async function send(target: string, body: object | string | undefined, headers: Record<string, string>) {
    const [method, url] = target.split(' ') as [Method, string];
    // Time goes on between two requests, always by as much.
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
