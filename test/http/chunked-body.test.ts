import fc from 'fast-check';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { joinChunks, mergeChunks, START_OF_CHUNKS, walkChunks } from '../../src/http/chunked-body.ts';
import { aPost, buildTestApp } from '../support/app.ts';
import { sendRaw } from './raw-http.ts';

/** A body in chunks of one byte each. */
const chunked = (body: string) => `${Array.from(body, (byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`;
const headOf = (path: string, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${more}\r\n`;

test('chunks of one byte are joined into blocks before they are collected', async () => {
  const app = Fastify();
  joinChunks(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (_request: unknown, payload: NodeJS.ReadableStream) => {
    const sizes: number[] = [];
    for await (const block of payload) sizes.push((block as Buffer).length);
    return sizes;
  });
  app.post('/', async ({ body }) => body);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { body } = await sendRaw(app, headOf('/') + chunked('a'.repeat(40_000)));
  expect(JSON.parse(body)).toEqual([16_384, 16_384, 7_232]);
  await app.close();
});

test('a body in chunks of one byte is read, and one that is too long is rejected', async () => {
  const t = await buildTestApp();
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const key = `Authorization: ${t.auth.authorization}\r\n`;
  const text = JSON.stringify(aPost({ text: 'Which CRM would you recommend? Grüße' }));
  const bytes = Buffer.from(text).toString('latin1');
  const stored = await sendRaw(t.app, Buffer.from(headOf('/v1/signals', key) + chunked(bytes), 'latin1'));
  expect(stored.status).toBe(201);
  expect(stored.body).toContain('Grüße');
  const pad = `40000\r\n${'a'.repeat(0x40000)}\r\n`.repeat(5);
  expect((await sendRaw(t.app, headOf('/v1/signals', key) + pad)).status).toBe(413);
  await t.app.close();
});

test('the framing of a body is followed to its end, however its bytes arrive', () => {
  const chunk = fc.record({
    data: fc.stringMatching(/^[\r\n0-9a-f;]{1,40}$/),
    zeros: fc.constantFrom('', '0', '000'),
    extension: fc.constantFrom('', ';', ';a=b', ';a="0"'),
  });
  const trailers = fc.constantFrom('', 'a: b\r\n', 'a: \r\nb: c\r\n');
  const bodies = fc.tuple(fc.array(chunk, { maxLength: 20 }), trailers, fc.boolean());
  fc.assert(
    fc.property(
      bodies,
      fc.array(fc.integer({ min: 1, max: 30 })),
      fc.nat(20),
      ([chunks, end, upper], cuts, most) => {
        const sized = chunks.map(({ data, zeros, extension }) => {
          const size = `${zeros}${data.length.toString(16)}`;
          return `${upper ? size.toUpperCase() : size}${extension}\r\n${data}\r\n`;
        });
        const body = `${sized.join('')}0\r\n${end}\r\n`;
        const bytes = Buffer.from(`${body}GET / HTTP/1.1\r\n\r\n`);
        let position = START_OF_CHUNKS;
        let at = 0;
        let seen = 0;
        for (let n = 0; position.part !== 'end'; n++) {
          const piece = bytes.subarray(at, at + (cuts[n] ?? 1_000));
          const walked = walkChunks(position, piece, most + 1);
          expect(walked.length).toBeGreaterThan(0);
          expect(walked.chunks).toBeLessThanOrEqual(most + 1);
          at += walked.length;
          seen += walked.chunks;
          position = walked.position;
        }
        expect({ at, seen }).toEqual({ at: body.length, seen: chunks.length + 1 });
      },
    ),
  );
});

test('whole chunks are merged up to the first that is not whole, not valid, or the last', () => {
  const merged = (text: string) => {
    const found = mergeChunks(Buffer.from(text, 'latin1'));
    return found === null ? null : [found.length, found.merged.toString('latin1')];
  };
  expect(merged('1\r\na\r\n2\r\nbc\r\n3\r\nde')).toEqual([13, '3\r\nabc\r\n']);
  expect(merged('1\r\na\r\n001\r\nb\r\n0\r\n\r\n')).toEqual([14, '2\r\nab\r\n']);
  for (const after of [
    '0\r\n\r\n',
    '1;a\r\nb\r\n',
    '1\nb\r\n',
    '1\r\nbb\r\n',
    '1 \r\nb\r\n',
    '00001\r\nb\r\n',
    '',
    'x',
  ])
    expect(merged(`1\r\na\r\n${after}`)).toBeNull();
});
