import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { RECEIVERS } from '../../test/dispatcher/tls-fixture.ts';

/** Where each kind of sick receiver listens on loopback. */
export type SickPorts = Record<'stalled' | 'resetting' | 'slow' | 'failing' | 'untrusted', number>;

/** How long the slow ones take for an answer. */
const SLOW_MS = 3_000;
const HEAD_END = '\r\n\r\n';
const answer = (status: string) => `HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nno`;

const servers: Record<keyof SickPorts, Server> = {
  // Takes connections and whatever is sent, and never says a word.
  stalled: createServer((socket) => socket.on('error', () => socket.destroy()).resume()),
  // The request has come, and the connection breaks.
  resetting: createServer((socket) =>
    socket.on('error', () => socket.destroy()).once('data', () => socket.resetAndDestroy()),
  ),
  slow: answering('200 OK', SLOW_MS),
  failing: answering('500 Internal Server Error', 0),
  // Its certificate is signed by nobody whom the server trusts.
  untrusted: createTlsServer(RECEIVERS.valid, (socket) => socket.destroy()).on('tlsClientError', () => {}),
};

/** Answers every request, one at a time, once all of its body is there. */
function answering(status: string, afterMs: number): Server {
  return createServer((socket) => {
    let rest = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      rest += chunk.toString('latin1');
      const head = rest.indexOf(HEAD_END);
      const [, length = '0'] = /content-length: (\d+)/i.exec(rest) ?? [];
      if (head === -1 || rest.length < head + HEAD_END.length + Number(length)) return;
      rest = '';
      setTimeout(() => socket.writable && socket.write(answer(status)), afterMs);
    });
  });
}

const ports: Partial<SickPorts> = {};
for (const [kind, server] of Object.entries(servers)) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ports[kind as keyof SickPorts] = (server.address() as AddressInfo).port;
}
process.on('disconnect', () => process.exit(0));
process.send?.(ports);
