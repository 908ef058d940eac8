import { isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Clock, Timer } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import { writeInPieces } from '../lib/writing-turns.ts';
import { createReleases } from '../lib/yielding.ts';
import type { AttemptErrorCode } from '../model/delivery.ts';
import { createHandshakes, type HandshakeStream, TLS_LIMITS } from './handshakes.ts';
import { createReplyTurns, openInPieces } from './replies-in-turns.ts';
import { type Lookup, resolveTarget } from './targets.ts';

/** Maximum time for one address while others remain: a dead IPv6 route must not use up the whole deadline. */
const NEXT_ADDRESS_AFTER_MS = 3_000;

export interface ConnectDeps {
  clock: Clock;
  /** Addresses exempt from the public-HTTPS rule. */
  allow: AddressSet;
  lookup: Lookup;
  localAddress: string | null;
  /** Certificate authorities in addition to the system's, in PEM. */
  ca?: string;
  /** For reading public sites, many of which lack TLS 1.3 or TLS altogether. Deliveries require TLS 1.3. */
  lenient?: boolean;
}

/**
 * A connection in progress. `cancel` ends it with `error`, and has no effect once it is established. It has
 * no timeout: that of the request applies, and thousands of dead receivers would otherwise mean thousands of
 * timers.
 */
export interface Dial {
  cancel(error: Error): void;
}

/**
 * undici's connector, with a handle to cancel it: an AbortSignal has no effect before the connection is
 * established.
 */
export type Connect = (
  options: buildConnector.Options,
  callback: buildConnector.Callback,
  /** Look-ups, TLS handshakes and responses of different owners take turns; by default, each host is its own. */
  owner?: string,
) => Dial;

/**
 * Creates a connector that resolves a name, checks every address, and connects to the address that was
 * checked: the name is not resolved again, so a DNS response cannot change between the check and the
 * connection.
 */
export function createConnect(deps: ConnectDeps): Connect {
  // 4,000 receivers that ended at once blocked the process for 0.8 s: undici creates an error for each connection.
  const release = createReleases(deps.clock.monotonic);
  const readInTurns = createReplyTurns(deps.clock, release);
  const decryptInTurns = createReplyTurns(deps.clock, release);
  const handshakeOf = createHandshakes(deps.clock);
  // Creating one for each connection takes 0.13 ms.
  const secureContext = createSecureContext(tlsLimits(deps));
  return (options, callback, owner = options.hostname) => {
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

    /** Connects to `addresses[index]` and, if that fails, to the next one. */
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
      const succeed = (opened: Socket) => {
        if (given || !settle()) return;
        given = true;
        readInTurns(opened, owner, attempt);
        writeInPieces(opened, release);
        callback(null, opened);
      };
      if (!last)
        patience = deps.clock.after(NEXT_ADDRESS_AFTER_MS, () => giveUp(new ConnectError('timeout')));
      attempt.on('error', (error) => giveUp(dialError(error, secure && reached)));
      attempt.once('connect', () => {
        reached = true;
        if (given || settled) attempt.destroy();
        else if (secure) beginTls(address);
        else succeed(attempt);
      });

      function beginTls(host: string): void {
        decryptInTurns(attempt, owner);
        const stream = handshakeOf(attempt, owner);
        stream.begin(() => {
          if (given || settled) attempt.destroy();
          else shakeHands(stream, host);
        });
      }

      function shakeHands(stream: HandshakeStream, host: string): void {
        // Without SNI, the certificate is checked against `host`.
        const secured = connectTls({
          socket: stream,
          host,
          secureContext,
          // No SNI for IP literals (RFC 6066, section 3); the certificate is then checked against the address.
          servername: isIP(hostname) === 0 ? hostname : '',
          rejectUnauthorized: TLS_LIMITS.rejectUnauthorized,
          ALPNProtocols: ['http/1.1'],
        });
        stream.serve(secured);
        secured.on('error', (error) => giveUp(dialError(error, true)));
        secured.once('secureConnect', () => succeed(secured));
      }
    }

    function open(address: string): Socket {
      const opened = openInPieces({
        host: address,
        port: Number(options.port || (secure ? 443 : 80)),
        ...(deps.localAddress === null ? {} : { localAddress: deps.localAddress }),
      });
      return opened.setNoDelay(true).setKeepAlive(true, 30_000);
    }

    resolveTarget(hostname, deps.allow, deps.lookup, owner).then(
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

function tlsLimits({ ca, lenient }: ConnectDeps) {
  return {
    ...TLS_LIMITS,
    minVersion: lenient ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    ...(ca === undefined ? {} : { ca }),
  } as const;
}

/** Errors of connecting to a target and of reading its response. */
export type ConnectFaultCode = Exclude<AttemptErrorCode, 'http_status' | 'redirect' | 'internal'>;

/**
 * One fixed message per code. Owners of endpoints read them, and a message from the system could contain an
 * address or reveal what responds inside our network.
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

/** Why a connection failed; `code` is shown in the log of attempts. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: ConnectFaultCode;
  constructor(code: ConnectFaultCode, detail?: string) {
    super(detail === undefined ? CONNECT_MESSAGES[code] : `${CONNECT_MESSAGES[code]} (${detail})`);
    this.code = code;
  }
}

/**
 * Maps the error of a failed connection or TLS handshake. `securing`: the TCP connection was established, and
 * TLS was being negotiated.
 */
function dialError(error: unknown, securing: boolean): ConnectError {
  const code = codeOf(error);
  if (securing && code !== 'ECONNRESET' && code !== 'ETIMEDOUT') return new ConnectError('tls', code);
  return new ConnectError(systemFault(code));
}

/** Maps an error code of the system, such as `ECONNREFUSED`. */
export function systemFault(code: string): ConnectFaultCode {
  return SYSTEM_CODES[code] ?? 'network';
}

/** The `code` of an error; an empty string if it has none. */
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
