import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// Responds to every request with the given bytes: the machine's share of the time of a page.
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
