import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { createHarness, type Harness, settle, TENANT } from './harness.ts';

let folder = '';
let receiver: Receiver;
let harness: Harness;
/** Direct access to the store's file. */
let file: Database.Database;
const lines: object[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalpost-poison-'));
  receiver = await startReceiver();
  lines.length = 0;
  harness = await createHarness({ file: join(folder, 'store.db'), onLog: (line) => lines.push(line) });
  file = new Database(join(folder, 'store.db'));
});
afterEach(async () => {
  await harness.dispatcher.stop(0);
  await harness.store.close();
  file.close();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

const setBody = (id: string, body: string) =>
  file
    .prepare('UPDATE delivery_bodies SET body = ? WHERE id = (SELECT body_id FROM deliveries WHERE id = ?)')
    .run(body, id);
const removeBody = (id: string) => file.prepare('UPDATE deliveries SET body_id = NULL WHERE id = ?').run(id);

const POISONS: [string, (id: string) => void][] = [
  ['is gone', removeBody],
  ['is empty', (id) => setBody(id, '')],
  ['is no JSON', (id) => setBody(id, 'SECRET CONTENT')],
  ['was cut off', (id) => setBody(id, '{"event":"evt_1","excerpt":"SECRET CONT')],
  ['is JSON at its ends only', (id) => setBody(id, '{SECRET CONTENT}')],
  ['is a list', (id) => setBody(id, '[1]')],
  ['is null', (id) => setBody(id, 'null')],
];

describe.each(POISONS)('a delivery whose body %s', (_, poison) => {
  it('becomes a dead letter with its reason without being sent, and delays nothing', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    const ids = await harness.enqueue(id, 5);
    const [bad = '', ...good] = ids;
    poison(bad);
    await harness.dispatcher.start();
    await harness.committed(5);
    const log = await harness.delivery(bad);
    expect([log.status, log.nextAttemptAt, log.attempts.length]).toEqual(['dead', null, 1]);
    expect(log.attempts[0]).toMatchObject({ sent: null, response: null, error: { code: 'internal' } });
    expect(log.expiresAt).toBe(harness.clock.now() + 7 * 86_400_000);
    for (const one of good) expect((await harness.delivery(one)).status).toBe('delivered');
    expect(receiver.requests.map((request) => request.headers['webhook-id']).sort()).toEqual(good.sort());
    expect(await harness.store.getEndpoint(TENANT, id)).toMatchObject({
      status: 'active',
      consecutiveFailures: 0,
    });
    expect(JSON.stringify(lines)).toContain(bad);
    expect(JSON.stringify(lines)).not.toContain('SECRET');
  });
});

describe('a poisoned delivery', () => {
  it('is discarded if dead letters are off, with its reason in the log', async () => {
    const { id } = await harness.endpoint({ url: receiver.url, dead_letter: false });
    const [bad = ''] = await harness.enqueue(id);
    setBody(bad, '');
    await harness.dispatcher.start();
    await harness.committed(1);
    const log = await harness.delivery(bad);
    expect([log.status, log.attempts[0]?.error?.code]).toEqual(['discarded', 'internal']);
  });

  it('that was corrupted after its first attempt is not retried', async () => {
    receiver.answer = status(500);
    const { id } = await harness.endpoint({ url: receiver.url });
    const [bad = ''] = await harness.enqueue(id);
    await harness.dispatcher.start();
    await harness.committed(1);
    removeBody(bad);
    harness.clock.advance(1_010);
    await harness.committed(2);
    const log = await harness.delivery(bad);
    expect([log.status, log.attempts.length, receiver.requests.length]).toEqual(['dead', 2, 1]);
  });

  it('is also ended by a probe of a paused endpoint, and the next probe uses the next delivery', async () => {
    const { id } = await harness.endpoint({ url: receiver.url });
    await harness.enqueue(id, 20);
    receiver.answer = status(500);
    await harness.dispatcher.start();
    await harness.committed(20);
    const [bad = '', good = ''] = await harness.enqueue(id, 2);
    file.prepare('UPDATE deliveries SET next_attempt_at = 1 WHERE id = ?').run(bad);
    file.prepare('UPDATE deliveries SET next_attempt_at = 2 WHERE id = ?').run(good);
    removeBody(bad);
    receiver.answer = status(200);
    for (let passed = 0; passed < 16 * 60_000; passed += 15_000) {
      harness.clock.advance(15_000);
      await settle(10);
    }
    expect((await harness.delivery(bad)).status).toBe('dead');
    expect((await harness.delivery(good)).status).toBe('delivered');
    expect((await harness.store.getEndpoint(TENANT, id))?.status).toBe('active');
  });
});

describe('an endpoint whose settings are unreadable', () => {
  it('delays no other endpoint, and its deliveries are sent once they are readable again', async () => {
    const bad = await harness.endpoint({ url: receiver.url });
    const good = await harness.endpoint({ url: receiver.url });
    const [waiting = ''] = await harness.enqueue(bad.id);
    const [healthy = ''] = await harness.enqueue(good.id);
    const settings = file.prepare('SELECT settings FROM webhook_endpoints WHERE id = ?').pluck().get(bad.id);
    const write = file.prepare('UPDATE webhook_endpoints SET settings = ? WHERE id = ?');
    write.run('{"url":', bad.id);
    await harness.dispatcher.start();
    await harness.committed(1);
    expect((await harness.delivery(healthy)).status).toBe('delivered');
    write.run(settings, bad.id);
    harness.clock.advance(15_000);
    await harness.committed(2);
    expect((await harness.delivery(waiting)).status).toBe('delivered');
  });
});
