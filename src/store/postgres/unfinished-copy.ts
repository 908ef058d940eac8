import { StoreOpenError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { prepared } from './sql/prepared.ts';

/** The table that says how far "migrate-store" came. It is there until the copy is complete. */
export const UNFINISHED_COPY = 'unfinished_copy';

const findCopy = prepared('SELECT to_regclass(?) IS NOT NULL');

export async function hasUnfinishedCopy(db: Connection): Promise<boolean> {
  return (await db.ask(findCopy, [UNFINISHED_COPY])).rows[0]?.[0] === true;
}

/** A server must not use what is not whole yet. @throws StoreOpenError */
export async function refuseUnfinishedCopy(db: Connection): Promise<void> {
  if (!(await hasUnfinishedCopy(db))) return;
  throw new StoreOpenError(
    'unfinished_copy',
    'The database holds a copy that "signalpost migrate-store" has not completed. Run that command again: it continues where it ' +
      'stopped. Or begin anew with an empty database.',
  );
}
