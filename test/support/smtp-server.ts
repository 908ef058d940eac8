import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';

/** A received email. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body, CRLF. */
  source: string;
}

/** A mail server on loopback that stores received emails. */
export interface SmtpServer extends AsyncDisposable {
  url: string;
  received: ReceivedMail[];
  /** Rejects every recipient with this reply from now on; null: accepts them. */
  refuseWith(reply: string | null): void;
}

/**
 * Implements the parts of RFC 5321 that a client without extensions needs. With `secure`, it speaks TLS: from the start, or
 * if `isOffered`, once the client asks for it (RFC 3207).
 */
export async function startSmtpServer(secure?: TlsOptions, isOffered = false): Promise<SmtpServer> {
  const received: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let refusal: string | null = null;

  function converse(socket: Socket): void {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setEncoding('utf8');
    let mail: ReceivedMail = { from: '', to: [], source: '' };
    let pending = '';
    let inData = false;
    const say = (line: string) => socket.write(`${line}\r\n`);
    const offersTls = isOffered && !(socket instanceof TLSSocket);

    function command(line: string): void {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'EHLO' && offersTls) say('250-loopback\r\n250 STARTTLS');
      else if (verb === 'EHLO' || verb === 'HELO' || verb === 'RSET') say('250 loopback');
      else if (verb === 'STAR' && offersTls) {
        say('220 go on');
        socket.removeAllListeners('data');
        converse(new TLSSocket(socket, { isServer: true, ...secure }));
      } else if (verb === 'MAIL') {
        mail = { from: /<(.*)>/.exec(line)?.[1] ?? '', to: [], source: '' };
        say('250 ok');
      } else if (verb === 'RCPT') {
        if (refusal === null) mail.to.push(/<(.*)>/.exec(line)?.[1] ?? '');
        say(refusal ?? '250 ok');
      } else if (verb === 'DATA') {
        inData = true;
        say('354 go on');
      } else if (verb === 'QUIT') {
        say('221 bye');
        socket.end();
      } else say('502 not known');
    }

    socket.on('data', (chunk: string) => {
      pending += chunk;
      for (;;) {
        const end = pending.indexOf(inData ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const text = pending.slice(0, end);
        pending = pending.slice(end + (inData ? 5 : 2));
        if (inData) {
          inData = false;
          received.push({ ...mail, source: text });
          say('250 taken');
        } else command(text);
      }
    });
    if (!isOffered || offersTls) say('220 loopback');
  }
  const isTls = secure !== undefined && !isOffered;
  const server = isTls ? createTlsServer(secure, converse) : createServer(converse);

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${isTls ? 'smtps' : 'smtp'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    refuseWith(reply) {
      refusal = reply;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
