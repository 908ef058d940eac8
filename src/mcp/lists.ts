import { cursorScope, readCursor } from '../http/paging.ts';
import type { PageRequest, Position } from '../model/filters.ts';
import { fittingRows } from './answers.ts';
import type { McpCall } from './tool.ts';

/** What of a list a tool returns. */
interface AskedRows<R> {
  /** Tells its cursors from those of other lists. */
  name: string;
  /** What else changes what the list holds. */
  bound: unknown;
  limit: number;
  cursor: string | undefined;
  read(page: PageRequest): Promise<{ rows: R[]; last: Position | null }>;
}

/** The rows that fit into an answer, and the cursor behind them. @throws DomainError `INVALID_CURSOR` */
export function listRows<R>(
  { parts: { cursors }, tenantId }: McpCall,
  { name, bound, limit, cursor, read }: AskedRows<R>,
): Promise<{ rows: R[]; next_cursor: string | null; truncated: boolean }> {
  const scope = cursorScope(`mcp ${name}`, tenantId, bound);
  const after = readCursor(cursors, scope, cursor);
  return fittingRows(limit, async (asked) => {
    const { rows, last } = await read({ limit: asked, after });
    return { rows, next: last === null ? null : cursors.encode(scope, last) };
  });
}
