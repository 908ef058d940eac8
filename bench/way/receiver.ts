import { type AddressInfo, createServer, type Socket } from 'node:net';
import { sharedNow } from './setting.ts';

// Responds with 200 to everything on 50 ports, and records when each message arrived. Without node:http, like the dispatch benchmark's receiver.
const ORIGINS = 50;
const HEAD_END = '\r\n\r\n';
const MARK = 'forum.example/t/';
const REPLY =
  'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok';

/** Waits for this many arrivals, or for a minute without any; returns the number and the time of each, alternating. */
export interface Awaited {
  deliveries: number;
}

/** Deliveries that are missing by then wait for a retry or a probe minutes away: the run reports that instead of waiting. */
const GIVE_UP_MS = 60_000;

let arrivals: number[] = [];
let awaited = Number.POSITIVE_INFINITY;
let lastAt = 0;

function receive(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    const now = sharedNow();
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let length = requestLength(bytes); length <= bytes.length; length = requestLength(bytes)) {
      const at = bytes.indexOf(MARK);
      arrivals.push(
        Number.parseInt(bytes.toString('latin1', at + MARK.length, at + MARK.length + 9), 10),
        now,
      );
      lastAt = now;
      bytes = bytes.subarray(length);
      socket.write(REPLY, 'latin1');
      report();
    }
    rest = bytes;
  });
}

function report(): void {
  if (arrivals.length / 2 < awaited && sharedNow() - lastAt < GIVE_UP_MS) return;
  awaited = Number.POSITIVE_INFINITY;
  process.send?.(arrivals);
  arrivals = [];
}

/** The size of the request at the start of `bytes`; Infinity if its head is incomplete. */
function requestLength(bytes: Buffer): number {
  const headLength = bytes.indexOf(HEAD_END);
  if (headLength === -1) return Number.POSITIVE_INFINITY;
  const [, bodyLength = '0'] = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headLength)) ?? [];
  return headLength + HEAD_END.length + Number(bodyLength);
}

const ports: number[] = [];
for (let i = 0; i < ORIGINS; i++) {
  const server = createServer(receive);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ports.push((server.address() as AddressInfo).port);
}
process.on('message', ({ deliveries }: Awaited) => {
  awaited = deliveries;
  lastAt = sharedNow();
  report();
});
setInterval(() => {
  if (awaited < Number.POSITIVE_INFINITY) report();
}, 1_000).unref();
process.on('disconnect', () => process.exit(0));
process.send?.(ports);
