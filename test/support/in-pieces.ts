import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a browser to paint what it has received. */
const BETWEEN_MS = 20;

export interface PiecedServer {
  url: string;
  /** The number of pieces sent so far. */
  pieces(): number;
  close(): Promise<void>;
}

/** A proxy for `origin` that sends HTML like a slow connection: split by `cut`, with a pause after each piece. */
export async function serveInPieces(origin: string, cut: RegExp): Promise<PiecedServer> {
  let sent = 0;
  const server = createServer(async ({ url, headers }, reply) => {
    const accept = headers.accept ?? '*/*';
    const answer = await fetch(new URL(url ?? '/', origin), { headers: { accept } });
    const type = answer.headers.get('content-type') ?? '';
    reply.writeHead(answer.status, { 'content-type': type });
    const body = Buffer.from(await answer.arrayBuffer());
    for (const piece of type.startsWith('text/html') ? body.toString().split(cut) : [body]) {
      reply.write(piece);
      sent += 1;
      await sleep(BETWEEN_MS);
    }
    reply.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pieces: () => sent,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
