import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Answers every request with the bytes it was given, and does nothing else: what the machine itself adds to a page.
process.on('message', (page: string) => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.end(page);
  });
  server.listen(0, '127.0.0.1', () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
