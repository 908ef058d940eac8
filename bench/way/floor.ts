import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { fastify } from 'fastify';
import { Pool } from 'undici';

// The floor: a bare route that commits one row durably before its response, then signs and posts one body per endpoint.
// Without scoring, logging, guards and retries.
const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
const db = new Sqlite(join(folder, 'floor.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL)');
const insert = db.prepare<[string]>('INSERT INTO messages (body) VALUES (?)');
const urls = process.argv.slice(2).map((url) => new URL(url));
const pools = new Map(urls.map(({ origin }) => [origin, new Pool(origin, { connections: 256 })]));

const app = fastify();
app.post('/v1/signals', (request, reply) => {
  const message = JSON.stringify(request.body);
  const { lastInsertRowid } = insert.run(message);
  reply.code(201).send({ id: String(lastInsertRowid) });
  for (const url of urls) post(url, message).catch(console.error);
});

async function post({ origin, pathname }: URL, message: string): Promise<void> {
  const body = bodyOf(message);
  const headers = {
    'content-type': 'application/json',
    'x-service-signature': createHmac('sha256', 'whsec_secret').update(body).digest('hex'),
  };
  const reply = await pools.get(origin)?.request({ method: 'POST', path: pathname, headers, body });
  await reply?.body.dump();
}

/** About as long as ours, with the same members. */
function bodyOf(message: string): string {
  return JSON.stringify({ signal_id: `sig_${'0'.repeat(25)}`, signal_type: 'intent_post', post: message });
}

process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url, pid: process.pid });
