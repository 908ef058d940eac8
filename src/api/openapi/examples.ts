import { readFileSync } from 'node:fs';
import type { ErrorCode } from '../../model/errors.ts';
import type { Answer, Document, Operation, Reference } from './document-types.ts';
import { codesOf } from './problem-answers.ts';

const FILE = new URL('./examples.json', import.meta.url);

/** Requests and answers of a real server, kept by `npm run openapi`. */
export interface Examples {
  /** By operationId: the body that was sent, and the first answer of each status. */
  operations: Record<string, { request?: unknown; answers: Record<string, unknown> }>;
  problems: Partial<Record<ErrorCode, unknown>>;
  /** By event type: the body that was delivered. */
  webhooks: Record<string, unknown>;
}

export function readExamples(): Examples {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

/** Shows on every body what it looks like. */
export function addExamples(document: Document, examples: Examples): void {
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    addToOperation(operation, examples);
  }
  for (const answer of Object.values(document.components.responses ?? {})) {
    addToProblem(answer as Answer, examples);
  }
}

function addToOperation(operation: Operation, { operations }: Examples): void {
  const seen = operations[operation.operationId ?? ''];
  if (seen === undefined) return;
  const sent = operation.requestBody?.content['application/json'];
  if (sent !== undefined && seen.request !== undefined) sent.example = seen.request;
  for (const [status, answer] of Object.entries(operation.responses)) {
    const media = bodyOf(answer, 'application/json');
    if (media !== undefined && seen.answers[status] !== undefined) media.example = seen.answers[status];
  }
}

/** A status that several codes share has an example for each that was met. */
function addToProblem(answer: Answer, { problems }: Examples): void {
  const media = bodyOf(answer, 'application/problem+json');
  if (media === undefined) return;
  const met = codesOf(media.schema).filter((code) => problems[code] !== undefined);
  if (met.length > 0) {
    media.examples = Object.fromEntries(met.map((code) => [code, { value: problems[code] }]));
  }
}

function bodyOf(answer: Answer | Reference, type: string) {
  return '$ref' in answer ? undefined : answer.content?.[type];
}
