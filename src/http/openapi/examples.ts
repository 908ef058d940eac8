import type { ErrorCode } from '../../model/errors.ts';
import type { Answer, Operation, Reference } from './document-types.ts';

/** What bodies look like. */
export interface Examples {
  /** By operationId: the body that was sent, and the first answer of each status. */
  operations: Record<string, { request?: unknown; answers: Record<string, unknown> }>;
  problems: Partial<Record<ErrorCode, unknown>>;
  /** By event type: the body that was delivered. */
  webhooks?: Record<string, unknown>;
}

/** Shows on an operation's bodies what they look like. */
export function addExamples(operation: Operation, { operations }: Examples): void {
  const seen = operations[operation.operationId ?? ''];
  if (seen === undefined) return;
  const sent = operation.requestBody?.content['application/json'];
  if (sent !== undefined && seen.request !== undefined) sent.example = seen.request;
  for (const [status, answer] of Object.entries(operation.responses)) {
    const media = jsonOf(answer);
    if (media !== undefined && seen.answers[status] !== undefined) media.example = seen.answers[status];
  }
}

function jsonOf(answer: Answer | Reference) {
  return '$ref' in answer ? undefined : answer.content?.['application/json'];
}
