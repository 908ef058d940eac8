import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { RECEIVERS } from '../../test/dispatcher/tls-fixture.ts';

/** The loopback port of each kind of sick receiver. */
export type SickPorts = Record<'stalled' | 'resetting' | 'slow' | 'failing' | 'untrusted', number>;

/** The response time of slow ones. */
const SLOW_MS = 3_000;
const HEAD_END = '\r\n\r\n';
const answer = (status: string) => `HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nno`;

const servers: Record<keyof SickPorts, Server> = {
  // Accepts connections and data, and never responds.
  stalled: createServer((socket) => socket.on('error', () => socket.destroy()).resume()),
  // Resets the connection after the request.
  resetting: createServer((socket) =>
    socket.on('error', () => socket.destroy()).once('data', () => socket.resetAndDestroy()),
  ),
  slow: answering('200 OK', SLOW_MS),
  failing: answering('500 Internal Server Error', 0),
  // Its certificate is not signed by an authority that the server trusts.
  untrusted: createTlsServer(RECEIVERS.valid, (socket) => socket.destroy()).on('tlsClientError', () => {}),
};

/** Responds to every request, one at a time, after its whole body. */
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
