import { isAscii } from 'node:buffer';
import Fastify from 'fastify';

/** A response of the floor at a path. */
export interface FloorRoute {
  path: string;
  contentType: string;
  body: string;
}

// The floor: plain Fastify that sends the same bytes.
process.on('message', (routes: FloorRoute[]) => {
  void listen(routes).then((url) => process.send?.(url));
});
process.on('disconnect', () => process.exit(0));
process.send?.(process.pid);

async function listen(routes: readonly FloorRoute[]): Promise<string> {
  const app = Fastify();
  for (const { path, contentType, body } of routes) {
    const bytes = Buffer.from(body);
    // The type that is cheaper for Node to send.
    const payload = isAscii(bytes) ? body : bytes;
    app.get(path, (_request, reply) => {
      reply.header('content-type', contentType).send(payload);
    });
  }
  return app.listen({ host: '127.0.0.1', port: 0 });
}
