import { errors } from 'undici';
import type { AttemptErrorCode } from '../model/delivery.ts';
import { CONNECT_MESSAGES, ConnectError, codeOf, systemFault } from '../webhooks/connect-error.ts';

/** An attempt's error as it is kept. */
export interface AttemptFault {
  code: AttemptErrorCode;
  message: string;
}

/** One fixed sentence a code, those of the way there among them. */
export const MESSAGES: Record<AttemptErrorCode, string> = {
  ...CONNECT_MESSAGES,
  http_status: 'The receiver answered with a status other than 2xx.',
  redirect: 'The receiver answered with a redirect; redirects are not followed.',
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

/** True where the other side closed or reset the connection, in whatever words. */
export function isClosed(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET') return !/^bad /.test((error as Error).message);
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function requestCode(error: unknown): AttemptErrorCode {
  if (isClosed(error)) return 'connection_reset';
  const code = codeOf(error);
  if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_HEADERS_OVERFLOW') return 'invalid_response';
  if (error instanceof errors.HTTPParserError) return 'invalid_response';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'tls';
  if (code.startsWith('UND_ERR_') || error instanceof TypeError) return 'internal';
  return systemFault(code);
}
