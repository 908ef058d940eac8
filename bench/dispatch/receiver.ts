import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Answers 200 to everything on as many loopback ports as asked for: the receivers of both sides of the comparison.
const ORIGINS = 50;
const ports: number[] = [];
for (let i = 0; i < ORIGINS; i++) {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end('ok'));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ports.push((server.address() as AddressInfo).port);
}
process.send?.(ports);
process.on('disconnect', () => process.exit(0));
