import { expect, test } from 'vitest';
import { imageSize } from '../../../src/site/content/assets.ts';

/** The headers of 300 × 200 images, as specified by their formats. */
const png = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  Buffer.from([0, 0, 1, 44, 0, 0, 0, 200, 8, 6, 0, 0, 0, 0, 0, 0, 0]),
]);
const jpeg = Buffer.from([
  ...[0xff, 0xd8, 0xff, 0xe0, 0, 16, ...Array<number>(14).fill(0)], // APP0, to be skipped
  ...[0xff, 0xc4, 0, 4, 0, 0], // a table whose marker is in the range of frame markers
  ...[0xff, 0xc2, 0, 11, 8, 0, 200, 1, 44, 3, 0, 0, 0], // progressive frame
]);
const riff = (form: string, rest: number[]) =>
  Buffer.concat([Buffer.from(`RIFF\0\0\0\0WEBP${form}\0\0\0\0`, 'latin1'), Buffer.from(rest)]);
const lossy = riff('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, 44, 1, 200, 0]);
const lossless = riff('VP8L', [0x2f, ...le32(299 | (199 << 14)), 0, 0, 0, 0, 0]);
const extended = riff('VP8X', [0, 0, 0, 0, 43, 1, 0, 199, 0, 0]);

function le32(value: number): number[] {
  return [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >> 24) & 255];
}

test.each([
  ['PNG', png],
  ['JPEG', jpeg],
  ['lossy WebP', lossy],
  ['lossless WebP', lossless],
  ['extended WebP', extended],
  ['SVG', Buffer.from('<?xml version="1.0"?><svg viewBox="0 0 3 2" width="300" height="200px"></svg>')],
])('the size of a %s image is read from its header', (_format, bytes) => {
  expect(imageSize(bytes)).toEqual({ width: 300, height: 200 });
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('just some words that are longer than any head')],
  ['a JPEG that is cut off', jpeg.subarray(0, 34)],
  ['an SVG without a size', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 3 2"></svg>')],
])('%s has no size', (_what, bytes) => {
  expect(imageSize(bytes)).toBeNull();
});
