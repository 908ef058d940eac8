import type { AttemptErrorCode } from '../model/delivery.ts';

/** What can go wrong on the way to a target, before and while it answers. */
export type ConnectFaultCode = Exclude<AttemptErrorCode, 'http_status' | 'redirect' | 'internal'>;

/**
 * One fixed sentence a code: the owner of an endpoint reads them, and a message from the system could name an address
 * or tell what answers inside our network.
 */
export const CONNECT_MESSAGES: Record<ConnectFaultCode, string> = {
  timeout: 'No complete status and headers arrived within the time limit.',
  connection_refused: 'The endpoint refused the connection.',
  connection_reset: 'The endpoint closed the connection before responding.',
  dns: 'The host name does not resolve.',
  tls: 'A TLS 1.3 connection with a valid certificate could not be established.',
  blocked_target: 'The target is not on the public internet, or its port or scheme is not allowed.',
  invalid_response: 'The response is not valid HTTP/1.1.',
  network: 'The endpoint could not be reached.',
};

/** Why a connection could not be made; `code` is what the attempt's log shows. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: ConnectFaultCode;
  constructor(code: ConnectFaultCode, detail?: string) {
    super(detail === undefined ? CONNECT_MESSAGES[code] : `${CONNECT_MESSAGES[code]} (${detail})`);
    this.code = code;
  }
}

/** What a failed dial or TLS handshake is called. `secured`: the TCP connection stood, TLS was being negotiated. */
export function dialError(error: unknown, securing: boolean): ConnectError {
  const code = codeOf(error);
  if (securing && code !== 'ECONNRESET' && code !== 'ETIMEDOUT') return new ConnectError('tls', code);
  return new ConnectError(systemFault(code));
}

/** What a code of the system's, such as `ECONNREFUSED`, is called. */
export function systemFault(code: string): ConnectFaultCode {
  return SYSTEM_CODES[code] ?? 'network';
}

/** An error's `code`, or an empty text where it has none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

const SYSTEM_CODES: Record<string, ConnectFaultCode> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'timeout',
};
