import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createTransport } from 'nodemailer';
import { type Clock, toHttpDate } from '../lib/clock.ts';
import { limitReceived } from '../lib/network.ts';
import { createReleases } from '../lib/yielding.ts';
import { createHandshakes, type HandshakeStream, TLS_LIMITS } from '../webhooks/handshakes.ts';
import { createReplyTurns } from '../webhooks/replies-in-turns.ts';
import type { SendMail } from './mail.ts';

/** An unresponsive mail server must not delay other mail for minutes (nodemailer's own limits are 2 to 10). */
const TIMEOUT_MS = 10_000;
/** For a whole email, so that a slow server cannot delay the shutdown. */
const WHOLE_MS = 20_000;

/**
 * Maximum size of all responses to an email. nodemailer keeps each line of a server that sends more than it was asked for: 64 KB
 * of empty lines at a time took up to 0.3 s per turn of the event loop. With 256 KB,
 * eight connections still took 0.4 s.
 */
const MAX_RESPONSE_BYTES = 32 * 1024;

/**
 * Sends over SMTP; `smtpUrl` is `smtp://user:password@host:port` or `smtps://…`. Uses TLS whenever the server offers
 * it.
 */
export function createSmtpSender(smtpUrl: string, from: string, clock: Clock): SendMail {
  const handshakeOf = createHandshakes(clock);
  const readInTurns = createReplyTurns(clock, createReleases());
  const domain = /@([^\s>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
  const options = {
    url: smtpUrl,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return async ({ messageId, writtenAt, unsubscribeUrl, ...mail }) => {
    const socket = limitedSocket();
    readInTurns(socket, 'mail');
    const tls = tlsOver(handshakeOf(socket, 'mail'));
    await createTransport({ ...options, socket, tls }).sendMail({
      from,
      messageId: `<${messageId}@${domain}>`,
      ...mail,
      ...(unsubscribeUrl !== undefined && { headers: unsubscribeHeaders(unsubscribeUrl) }),
      // The format of RFC 5322, section 3.3: nodemailer sends a string unchanged.
      date: toHttpDate(writtenAt).replace('GMT', '+0000'),
      signal: AbortSignal.timeout(WHOLE_MS),
    });
  };
}

/**
 * Options for nodemailer's TLS client, which it creates itself: Node calls `pskCallback` as a method of the client, before
 * it sends anything, to ask for a key agreed in advance. There is none.
 */
function tlsOver(socket: HandshakeStream) {
  return {
    ...TLS_LIMITS,
    socket,
    pskCallback(this: TLSSocket) {
      socket.serve(this);
      return null;
    },
  };
}

/** A socket for one connection that ends when it has received too much. */
function limitedSocket(): Socket {
  const socket = new Socket();
  socket.on('error', () => {}); // also after nodemailer has finished with it
  limitReceived(socket, MAX_RESPONSE_BYTES, 'The mail server sends too much.');
  return socket;
}

/**
 * One-click unsubscribe in the mail client (RFC 8058). A URL contains no space at which the header could be folded.
 */
function unsubscribeHeaders(url: string) {
  const prepared = true;
  return {
    'List-Unsubscribe': { prepared, value: `<${url}>` },
    'List-Unsubscribe-Post': { prepared, value: 'List-Unsubscribe=One-Click' },
  };
}
