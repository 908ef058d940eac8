import { createCipheriv, createHmac } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is started with: a certificate and its key, and how many connections to wait for. */
export interface FloodOptions {
  key: string;
  cert: string;
  connections: number;
  records: number;
}

/**
 * A receiver in a thread of its own. Once all connections have sent their request, it answers each with nothing but
 * records full of session tickets, which take OpenSSL milliseconds each, and closes them. No library sends that many, so
 * it seals these records itself.
 */
const { key, cert, connections, records }: FloodOptions = workerData;
const TICKETS_A_RECORD = 700;
const [HANDSHAKE, APPLICATION_DATA] = [22, 23];

const secureContext = createSecureContext({ key, cert, ciphers: 'TLS_AES_128_GCM_SHA256' });
const ready: (() => void)[] = [];

/** `nst` of RFC 8446, section 4.6.1, with a ticket and a nonce of one byte. */
const ticket = (n: number) =>
  Buffer.from([4, 0, 0, 15, 0, 0, 1, 0, 0, 0, 0, 0, 1, n & 255, 0, 1, n & 255, 0, 0]);
const tickets = Buffer.concat(Array.from({ length: TICKETS_A_RECORD }, (_, n) => ticket(n)));

function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = `tls13 ${label}`;
  const info = Buffer.from(`\0${String.fromCharCode(length, name.length)}${name}\0\x01`, 'latin1');
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

function seal(secret: Buffer, sequence: number): Buffer {
  const nonce = expand(secret, 'iv', 12);
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
  const head = Buffer.from([APPLICATION_DATA, 3, 3, 0, 0]);
  head.writeUInt16BE(tickets.length + 17, 3);
  const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), nonce).setAAD(head);
  const sealed = [cipher.update(tickets), cipher.update(Buffer.from([HANDSHAKE])), cipher.final()];
  return Buffer.concat([head, ...sealed, cipher.getAuthTag()]);
}

function flood(tcp: Socket): void {
  let secret: Buffer | null = null;
  const stream = new Duplex({ read() {}, write: (bytes: Buffer, _, done) => void tcp.write(bytes, done) });
  const tls = new TLSSocket(stream as unknown as Socket, { isServer: true, secureContext });
  tls
    .on('error', () => {})
    .on('keylog', (line: Buffer) => {
      const [label, , hex = ''] = line.toString().trim().split(' ');
      if (label === 'SERVER_TRAFFIC_SECRET_0') secret = Buffer.from(hex, 'hex');
    });
  tcp
    .on('error', () => {})
    .once('data', (hello: Buffer) => {
      // TLS does not see the end of the handshake, so it sends nothing that would count.
      stream.push(hello);
      tcp.once('data', () => {
        ready.push(() => {
          const sealed = Array.from({ length: records }, (_, n) => seal(secret ?? Buffer.alloc(32), n));
          tcp.end(Buffer.concat(sealed));
        });
        if (ready.length === connections) for (const go of ready) go();
      });
    });
}

const server = createServer(flood).listen(0, '127.0.0.1', () => parentPort?.postMessage(server.address()));
