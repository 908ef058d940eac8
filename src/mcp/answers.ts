import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { excerpt } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';

/** An answer's JSON is no larger: more would fill the model's window (25 kB are about 7,000 tokens). */
const MAX_ANSWER_BYTES = 25_000;
/** Of which cursor, flags and the names around the rows take this at most. */
const FRAME_BYTES = 2_500;

/** Names and values of the arguments stand in a refusal, however long they are. */
const MAX_REFUSAL_CHARS = 2_000;

/** What `tools/call` returns. */
export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: true;
  [member: string]: unknown;
}

/** The same JSON twice: clients show their model either of the two. */
export function succeeded(value: object): ToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: { ...value } };
}

/** A refusal that a model can read and act on: what is wrong, and the way out. */
export function refused(error: unknown): ToolResult | null {
  const text = refusalText(error);
  return text === null
    ? null
    : { content: [{ type: 'text', text: excerpt(text, MAX_REFUSAL_CHARS) }], isError: true };
}

/** The error that the client gets: one that was meant for it, or, where something failed, one that says nothing of what. */
export function toProtocolError(error: unknown, report: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error;
  report(error);
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    'Something went wrong on our side. The error was logged.',
  );
}

/** A refusal as one text; null: it is none, but a bug. */
function refusalText(error: unknown): string | null {
  if (error instanceof z.ZodError) {
    const faults = error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.')}: ${message}`);
    return `INVALID_REQUEST: ${faults.join('; ')}`;
  }
  if (!(error instanceof DomainError)) return null;
  const { code, message, extra } = error;
  return [`${code}: ${message}`, extra.hint].filter((part) => part !== undefined).join(' ');
}

/** A part of a list, as it was read. */
export interface ReadRows<R> {
  rows: R[];
  /** Where the list goes on; null: it ends here. */
  next: string | null;
}

/**
 * Rows that fit into an answer. Where `limit` of them do not, as many as do are read again, so that the cursor goes on
 * behind the last one that is returned.
 */
export async function fittingRows<R>(
  limit: number,
  read: (limit: number) => Promise<ReadRows<R>>,
): Promise<{ rows: R[]; next_cursor: string | null; truncated: boolean }> {
  const page = await read(limit);
  const fitting = countFitting(page.rows);
  if (fitting === page.rows.length) return { rows: page.rows, next_cursor: page.next, truncated: false };
  const less = await read(Math.max(1, fitting));
  return { rows: less.rows, next_cursor: less.next, truncated: true };
}

/** How many of `rows`, from the first on, fit into an answer. */
export function countFitting(rows: readonly unknown[]): number {
  let bytes = FRAME_BYTES;
  for (const [index, row] of rows.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(row)) + 1;
    if (bytes > MAX_ANSWER_BYTES) return index;
  }
  return rows.length;
}
