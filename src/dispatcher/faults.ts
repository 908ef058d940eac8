import { errors } from 'undici';
import type { AttemptErrorCode } from '../model/delivery.ts';

/** Why a connection could not be made; `code` is what the attempt's log shows. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: AttemptErrorCode;
  constructor(code: AttemptErrorCode, detail?: string) {
    super(detail === undefined ? MESSAGES[code] : `${MESSAGES[code]} (${detail})`);
    this.code = code;
  }
}

/** An attempt's error as it is kept. */
export interface AttemptFault {
  code: AttemptErrorCode;
  message: string;
}

/**
 * One fixed sentence a code: the owner of an endpoint reads them, and a message from the system could name an address
 * or tell what answers inside our network.
 */
export const MESSAGES: Record<AttemptErrorCode, string> = {
  http_status: 'The receiver answered with a status other than 2xx.',
  redirect: 'The receiver answered with a redirect; redirects are not followed.',
  timeout: 'No complete status and headers came within the time limit.',
  connection_refused: 'The receiver refused the connection.',
  connection_reset: 'The receiver closed the connection before it had answered.',
  dns: 'The host name does not resolve.',
  tls: 'A TLS 1.3 connection with a valid certificate could not be made.',
  blocked_target: 'The target is not on the public internet, or its port or scheme is not allowed.',
  invalid_response: 'The answer is not valid HTTP/1.1.',
  network: 'The receiver could not be reached.',
  internal: 'The delivery could not be prepared. The fault is ours; it has been logged.',
};

/** The fault of a request that ended without a complete reply head. */
export function faultOf(error: unknown): AttemptFault {
  if (error instanceof ConnectError) return { code: error.code, message: error.message };
  const code = requestCode(error);
  return { code, message: MESSAGES[code] };
}

/** The fault of a reply that is no success. */
export function statusFault(status: number): AttemptFault {
  const code = status >= 300 && status < 400 ? 'redirect' : 'http_status';
  return { code, message: MESSAGES[code] };
}

/** What a failed dial or TLS handshake is called. `secured`: the TCP connection stood, TLS was being negotiated. */
export function dialError(error: unknown, securing: boolean): ConnectError {
  const code = codeOf(error);
  if (securing && code !== 'ECONNRESET' && code !== 'ETIMEDOUT') return new ConnectError('tls', code);
  return new ConnectError(SYSTEM_CODES[code] ?? 'network');
}

/** True where the other side closed or reset the connection, in whatever words. */
export function isClosed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return !/^bad /.test((error as Error).message);
  return code === 'ECONNRESET' || code === 'EPIPE';
}

const SYSTEM_CODES: Record<string, AttemptErrorCode> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'timeout',
};

function requestCode(error: unknown): AttemptErrorCode {
  if (isClosed(error)) return 'connection_reset';
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'invalid_response';
  if (error instanceof errors.HTTPParserError) return 'invalid_response';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  if (code.startsWith('UND_ERR_') || error instanceof TypeError) return 'internal';
  return SYSTEM_CODES[code] ?? 'network';
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
