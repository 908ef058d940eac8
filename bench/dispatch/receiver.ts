import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { RECEIVERS } from '../../test/dispatcher/tls-fixture.ts';

// Responds with 200 to everything on 50 loopback ports, and with TLS on 50 more: the receivers for both sides.
// Without node:http, which took as much CPU time as the bare loop: the receivers' share of the machine distorts both sides.
const ORIGINS = 50;
const HEAD_END = '\r\n\r\n';
const REPLY = [
  'HTTP/1.1 200 OK',
  'Date: Thu, 01 Jan 2026 00:00:00 GMT',
  'Connection: keep-alive',
  'Keep-Alive: timeout=60',
  'Content-Length: 2',
  '',
  'ok',
].join('\r\n');

/** Reads requests with a Content-Length, whole or in chunks, one after the other. */
function receive(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let length = requestLength(bytes); length <= bytes.length; length = requestLength(bytes)) {
      bytes = bytes.subarray(length);
      socket.write(REPLY, 'latin1');
    }
    rest = bytes;
  });
}

/** The size of the request at the start of `bytes`; Infinity if its head is incomplete. */
function requestLength(bytes: Buffer): number {
  const headLength = bytes.indexOf(HEAD_END);
  if (headLength === -1) return Number.POSITIVE_INFINITY;
  const [, bodyLength = '0'] = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headLength)) ?? [];
  return headLength + HEAD_END.length + Number(bodyLength);
}

const ports: number[] = [];
for (let i = 0; i < 2 * ORIGINS; i++) {
  const server = i < ORIGINS ? createServer(receive) : createTlsServer(RECEIVERS.valid, receive);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ports.push((server.address() as AddressInfo).port);
}
process.send?.(ports);
process.on('disconnect', () => process.exit(0));
