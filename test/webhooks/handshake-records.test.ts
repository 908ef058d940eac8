import { describe, expect, it } from 'vitest';
import { createHandshakeRecords } from '../../src/webhooks/handshake-records.ts';

const OWN_CURVE = Buffer.from('2a8648ce3d0101', 'hex');
const record = (type: number, content: Buffer) =>
  Buffer.concat([Buffer.from([type, 3, 3, content.length >> 8, content.length & 255]), content]);

/** The records that are returned for these bytes, received in pieces. */
function read(records: ReturnType<typeof createHandshakeRecords>, bytes: Buffer, size: number): Buffer[] {
  const read: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    records.add(bytes.subarray(at, at + size));
    for (let one = records.next(); one !== null; one = records.next()) read.push(one);
  }
  return read;
}

describe('records of a handshake', () => {
  it.each([1, 7, 1_000])('are returned whole, received in pieces of %d bytes', (size) => {
    const sent = [record(22, Buffer.alloc(50, 1)), record(20, Buffer.from([1])), record(22, Buffer.alloc(0))];
    const records = createHandshakeRecords();
    expect(read(records, Buffer.concat(sent), size)).toEqual(sent);
    expect(records.isHostile).toBe(false);
  });

  it.each([1, 3, 6])(
    'are hostile with a curve of its own, also if %d bytes of it are in the next one',
    (behind) => {
      const content = Buffer.concat([Buffer.alloc(9), OWN_CURVE.subarray(0, 6)]);
      const at = content.length - behind;
      const records = createHandshakeRecords();
      read(records, record(22, content.subarray(0, at)), 1_000);
      expect(records.isHostile).toBe(false);
      read(records, record(22, content.subarray(at)), 1_000);
      expect(records.isHostile).toBe(true);
    },
  );

  it('wait, if they are encrypted, until the client tells its secret', () => {
    const encrypted = record(23, Buffer.alloc(40, 1));
    const records = createHandshakeRecords();
    expect(read(records, encrypted, 1_000)).toEqual([]);
    records.learn(Buffer.from('EXPORTER_SECRET 00 00\n'));
    expect(records.next()).toBeNull();
    records.learn(Buffer.from(`SERVER_HANDSHAKE_TRAFFIC_SECRET 00 ${'11'.repeat(32)}\n`));
    expect(records.next()).toEqual(encrypted);
  });

  it('are passed on as they are if they are none of TLS', () => {
    const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(read(createHandshakeRecords(), answer, 1_000)).toEqual([answer]);
  });

  it.each([1, 4, 1_000])('of another handshake are found, in pieces of %d bytes, in TLS 1.2', (size) => {
    const data = Buffer.concat([
      record(23, Buffer.alloc(30, 22)),
      record(23, Buffer.alloc(0)),
      record(21, OWN_CURVE),
    ]);
    const isFound = (bytes: Buffer, label: string) => {
      const records = createHandshakeRecords();
      records.learn(Buffer.from(`${label} 00 ${'11'.repeat(32)}\n`));
      let isAnother = false;
      for (let at = 0; at < bytes.length; at += size)
        isAnother = records.isAnother(bytes.subarray(at, at + size)) || isAnother;
      return isAnother;
    };
    const other = Buffer.concat([data, record(22, Buffer.alloc(4))]);
    expect(isFound(data, 'CLIENT_RANDOM')).toBe(false);
    expect(isFound(other, 'CLIENT_RANDOM')).toBe(true);
    expect(isFound(other, 'SERVER_HANDSHAKE_TRAFFIC_SECRET')).toBe(false);
  });
});
