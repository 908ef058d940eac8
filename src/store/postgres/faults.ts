import type { StorageFault } from '../commit-batch.ts';

/** Codes of PostgreSQL, or how they begin (postgresql.org/docs/current/errcodes-appendix.html): the server cannot take it now. */
const OUTAGES = [
  ...['08', '53', '57P', '58'], // connection, resources, shutdown and start, files
  ...['25006', '55P03', '57014'], // a standby, a lock, a statement that took too long
];
const OUT_OF_SPACE = '53100';
/** Another node's transaction was in the way, and the same one succeeds when it is run again. */
const CONFLICTS = ['40001', '40P01'];

/** PostgreSQL's code of an error, or Node's of a connection; null where it has none. */
function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error) ?? '');
}

export function faultOfPostgres(error: unknown): StorageFault {
  const code = codeOf(error);
  if (code === OUT_OF_SPACE) return 'full';
  // A connection that ends under way has no code in `pg`.
  if (error instanceof Error && /^Connection terminated|^Client has encountered/.test(error.message))
    return 'outage';
  if (code === null) return null;
  return /^E[A-Z]+$/.test(code) || OUTAGES.some((family) => code.startsWith(family)) ? 'outage' : null;
}
