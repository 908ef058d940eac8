import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { RECEIVERS } from '../../test/dispatcher/tls-fixture.ts';

// Answers 200 to everything on 50 loopback ports, and under TLS on 50 more: the receivers of both sides of the comparison.
const ORIGINS = 50;

const answer: RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => response.end('ok'));
};

const ports: number[] = [];
for (let i = 0; i < 2 * ORIGINS; i++) {
  const server = i < ORIGINS ? createServer(answer) : createTlsServer(RECEIVERS.valid, answer);
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ports.push((server.address() as AddressInfo).port);
}
process.send?.(ports);
process.on('disconnect', () => process.exit(0));
