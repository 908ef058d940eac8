import { DomainError } from '../../../model/errors.ts';

type Position = (string | number)[];

/** A page of rows in the order they were made in: one more is asked for than shown, to know whether any follows. */
export function pageByCreation<T extends { createdAt: number; id: string }>(
  { limit, after }: { limit: number; after: Position | null },
  find: (position: { createdAt: number; id: string; limit: number }) => T[],
): { rows: T[]; last: Position | null } {
  const [createdAt, id] = after ?? [-1, ''];
  if (typeof createdAt !== 'number' || typeof id !== 'string') {
    throw new DomainError('INVALID_CURSOR', 'The cursor is of another list.');
  }
  const found = find({ createdAt, id, limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, last: last === undefined ? null : [last.createdAt, last.id] };
}
