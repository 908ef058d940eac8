import { expect, test } from 'vitest';
import { ResponseLines } from '../../src/dispatcher/pools.ts';

const FINAL = 'HTTP/1.1 100x\r\n'; // in a body
const CASES: [reply: string, seen: string][] = [
  ['HTTP/1.1 200 OK\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['\r\nHTTP/1.0 100 Go\r\n\r\nHTTP/1.1 204\r\n\r\n', '\r\nHTTP/1.0 102 Go\r\n\r\nHTTP/1.1 204\r\n\r\n'],
  [
    'HTTP/1.1 100 \r\na: HTTP/1.1 100\r\n\r\nHTTP/1.1 100\n\n',
    'HTTP/1.1 102 \r\na: HTTP/1.1 100\r\n\r\nHTTP/1.1 102\n\n',
  ],
  ['HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 110\r\n\r\n', 'HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 110\r\n\r\n'],
];

test('each 100 before the final head becomes 102, at once or byte by byte, and nothing else changes', () => {
  const lines = new ResponseLines();
  for (const [reply, seen] of CASES) {
    const whole = Buffer.from(`${reply}HTTP/1.1 500 \r\n\r\n${FINAL}`);
    const bytes = [...whole].map((byte) => Buffer.of(byte));
    lines.begin();
    lines.look(whole);
    expect(whole.toString()).toBe(`${seen}HTTP/1.1 500 \r\n\r\n${FINAL}`);
    lines.begin();
    for (const byte of bytes) lines.look(byte);
    expect(Buffer.concat(bytes).toString()).toBe(`${seen}HTTP/1.1 500 \r\n\r\n${FINAL}`);
  }
});
