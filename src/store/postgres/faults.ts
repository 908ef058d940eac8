import type { StorageFault } from '../commit-batch.ts';

/**
 * PostgreSQL error codes, or their prefixes (postgresql.org/docs/current/errcodes-appendix.html), for an unavailable
 * server.
 */
const OUTAGES = [
  ...['08', '53', '57P', '58'], // connection, resources, shutdown and start, files
  ...['25006', '25P03', '25P04', '55P03', '57014'], // a standby, a transaction, a lock, a statement that took too long
  ...['28', '3D000'], // a server that no longer accepts connections
];
const OUT_OF_SPACE = '53100';
/** Damaged data, or a damaged index. */
const DAMAGES = ['XX001', 'XX002'];
/** Conflicts with another transaction: a retry succeeds. */
const CONFLICTS = ['40001', '40P01'];
/** Shut down or ended by the server, as reported by Node and `pg`: a new connection may succeed at once. */
const LOST = ['57P01', '57P02', '57P05', '25P03', '25P04', 'ECONNRESET', 'EPIPE'];
const NO_ANSWER = ['timeout expired', 'Query read timeout'];
const LOST_MESSAGE = /^Connection terminated|^Client has encountered/;

/** Without a connection, as `pg` says it (no password, no TLS), and as OpenSSL and Node name what is wrong with a certificate. */
const NO_PASSWORD = /^SASL: .*password must be/;
const NO_TLS = 'The server does not support SSL connections';
const BAD_CERTIFICATE =
  /^(CERT_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_|ERR_TLS_|HOSTNAME_MISMATCH$)/;

/** PostgreSQL's code of an error, or Node's for a connection error; null if it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.includes(codeOf(error) ?? '');
}

/** Whether the connection was lost while in use. */
export function isConnectionLost(error: unknown): boolean {
  return LOST.includes(codeOf(error) ?? '') || (error instanceof Error && LOST_MESSAGE.test(error.message));
}

/** Why no connection was made, where that is a fault of settings and not of the server's state. */
export function connectionRefusalOf(error: unknown): 'password' | 'tls' | 'certificate' | null {
  if (!(error instanceof Error)) return null;
  if (NO_PASSWORD.test(error.message)) return 'password';
  if (error.message === NO_TLS) return 'tls';
  return BAD_CERTIFICATE.test(codeOf(error) ?? '') ? 'certificate' : null;
}

export function faultOfPostgres(error: unknown): StorageFault {
  const code = codeOf(error);
  if (code === OUT_OF_SPACE) return 'full';
  if (
    isConnectionLost(error) ||
    connectionRefusalOf(error) !== null ||
    (error instanceof Error && NO_ANSWER.includes(error.message))
  )
    return 'outage';
  if (code === null) return null;
  if (DAMAGES.includes(code)) return 'damaged';
  return /^E[A-Z]+$/.test(code) || OUTAGES.some((family) => code.startsWith(family)) ? 'outage' : null;
}
