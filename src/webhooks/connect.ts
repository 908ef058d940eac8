import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock, Timer } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import type { AttemptErrorCode } from '../model/delivery.ts';
import { createReplyTurns } from './replies-in-turns.ts';
import { type Lookup, resolveTarget } from './targets.ts';

/** How long one address may take while others remain: a dead IPv6 route must not use up the whole deadline. */
const NEXT_ADDRESS_AFTER_MS = 3_000;

export interface ConnectDeps {
  clock: Clock;
  /** Addresses exempt from the public-HTTPS rule. */
  allow: AddressSet;
  lookup: Lookup;
  localAddress: string | null;
  /** Certificate authorities besides the system's, PEM. */
  ca?: string;
  /** For reading public sites, many of which have neither TLS 1.3 nor TLS at all. Deliveries demand TLS 1.3. */
  lenient?: boolean;
}

/**
 * A connection being made; `cancel` ends it with `error` and does nothing once it stands. It has no time limit of its own:
 * its request has one, and a timer each would be thousands where as many receivers are dead.
 */
export interface Dial {
  cancel(error: Error): void;
}

/** undici's connector, with a handle to stop it: an AbortSignal does not act before the connection stands. */
export type Connect = (options: buildConnector.Options, callback: buildConnector.Callback) => Dial;

/**
 * Resolves, checks every address, and dials the very address that was checked: the name is not resolved a second time,
 * so that a DNS answer cannot change between the check and the connection.
 */
export function createConnect(deps: ConnectDeps): Connect {
  const readInTurns = createReplyTurns(deps.clock);
  return (options, callback) => {
    const hostname = options.hostname.endsWith('.') ? options.hostname.slice(0, -1) : options.hostname;
    const secure = options.protocol === 'https:';
    let socket: Socket | null = null;
    let patience: Timer | null = null;
    let settled = false;

    function settle(): boolean {
      if (settled) return false;
      settled = true;
      patience?.cancel();
      return true;
    }

    function fail(error: Error): void {
      if (!settle()) return;
      socket?.destroy();
      callback(error, null);
    }

    /** Dials `addresses[index]` and, when that fails, the one after it. */
    function dial(addresses: readonly string[], index: number): void {
      const address = addresses[index];
      if (settled || address === undefined) return;
      const last = index === addresses.length - 1;
      let given = false;
      let reached = false;
      const attempt = open(address);
      socket = attempt;

      const giveUp = (error: ConnectError) => {
        if (given) return;
        given = true;
        patience?.cancel();
        attempt.destroy();
        if (last) fail(error);
        else dial(addresses, index + 1);
      };
      if (!last)
        patience = deps.clock.after(NEXT_ADDRESS_AFTER_MS, () => giveUp(new ConnectError('timeout')));
      attempt.on('error', (error) => giveUp(dialError(error, secure && reached)));
      attempt.once('connect', () => {
        reached = true;
      });
      attempt.once(secure ? 'secureConnect' : 'connect', () => {
        if (given || !settle()) return;
        given = true;
        readInTurns(attempt);
        callback(null, attempt);
      });
    }

    function open(address: string): Socket {
      const port = Number(options.port || (secure ? 443 : 80));
      const base = {
        host: address,
        port,
        ...(deps.localAddress === null ? {} : { localAddress: deps.localAddress }),
      };
      const opened = secure ? connectTls({ ...base, ...tlsOptions(hostname, deps) }) : connectTcp(base);
      return opened.setNoDelay(true).setKeepAlive(true, 30_000);
    }

    resolveTarget(hostname, deps.allow, deps.lookup).then(
      (target) => {
        if (settled) return;
        if ('fault' in target) fail(new ConnectError(target.fault === 'dns' ? 'dns' : 'blocked_target'));
        else if (!secure && !deps.lenient && !target.addresses.every((address) => deps.allow.has(address)))
          fail(new ConnectError('blocked_target'));
        else dial(target.addresses, 0);
      },
      () => fail(new ConnectError('dns')),
    );
    return { cancel: fail };
  };
}

function tlsOptions(hostname: string, { ca, lenient }: ConnectDeps) {
  return {
    // No SNI for IP literals (RFC 6066 section 3); the certificate is then checked against the address.
    servername: isIP(hostname) === 0 ? hostname : '',
    // Said, as the default is what NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: true,
    minVersion: lenient ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    ALPNProtocols: ['http/1.1'],
    ...(ca === undefined ? {} : { ca }),
  } as const;
}

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
function dialError(error: unknown, securing: boolean): ConnectError {
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
