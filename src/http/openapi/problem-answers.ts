import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '../../model/errors.ts';
import { problemStatus } from '../problems.ts';
import type { Answer, Document, JsonSchema, Reference } from './document-types.ts';
import { ANSWER_HEADERS, headerRef } from './headers.ts';

/** What each code that a face answers means to its caller. */
export type Meanings = Partial<Record<ErrorCode, string>>;

interface Problems {
  codes: Iterable<ErrorCode>;
  meanings: Meanings;
  /** A document of each code that was met. */
  examples: Partial<Record<ErrorCode, unknown>>;
}

/**
 * Puts the problems that an operation can answer into the document: one response a status, shared by the operations
 * that have the same codes.
 */
export function addProblems(
  document: Document,
  responses: Record<string, Answer | Reference>,
  { codes, ...told }: Problems,
): void {
  document.components.responses ??= {};
  const shared = document.components.responses;
  for (const [status, group] of groupByStatus(codes)) {
    const name = group.map(toPascal).join('Or');
    shared[name] ??= problemAnswer(status, { ...told, codes: group, version: document.openapi });
    responses[String(status)] = { $ref: `#/components/responses/${name}` };
  }
}

function groupByStatus(codes: Iterable<ErrorCode>): [number, ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of [...new Set(codes)].sort()) {
    const status = problemStatus(code);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}

function problemAnswer(
  status: number,
  { codes, meanings, examples, version }: Problems & { codes: ErrorCode[]; version: string },
): Answer {
  const lines = codes.map((code) => `\`${code}\`: ${meanings[code] ?? STATUS_CODES[status]}`);
  const met = codes.filter((code) => examples[code] !== undefined);
  return {
    description: `${STATUS_CODES[status]}. ${lines.join('; ')}.`,
    headers: { ...ANSWER_HEADERS, ...extraHeaders(codes) },
    content: {
      'application/problem+json': {
        schema: problemSchema(version, status, codes),
        ...(met.length > 0 && {
          examples: Object.fromEntries(met.map((code) => [code, { value: examples[code] }])),
        }),
      },
    },
  };
}

/** The problem's schema, narrowed to these codes where the version of OpenAPI has words for that. */
function problemSchema(version: string, status: number, codes: ErrorCode[]): JsonSchema {
  const problem = { $ref: '#/components/schemas/Problem' };
  if (version.startsWith('3.0')) return problem;
  return {
    allOf: [problem],
    properties: { status: { type: 'integer', const: status }, code: { type: 'string', enum: codes } },
  };
}

function extraHeaders(codes: ErrorCode[]): Record<string, Reference> {
  const has = (...some: ErrorCode[]) => codes.some((code) => some.includes(code));
  return {
    ...(has('UNAUTHENTICATED') && { 'WWW-Authenticate': headerRef('WWW-Authenticate') }),
    ...(has('RATE_LIMITED', 'UNAVAILABLE') && { 'Retry-After': headerRef('Retry-After') }),
    ...(has('METHOD_NOT_ALLOWED') && { Allow: headerRef('Allow') }),
  };
}

function toPascal(code: string): string {
  return code
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('');
}
