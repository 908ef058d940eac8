import { expect, test } from 'vitest';
import { bytesOf } from '../../scripts/train/offers/needs-file.ts';
import { createNeeds, knownNeeds } from '../../src/signals/needs.ts';

const WIDTH = 384;

/** A unit vector of the encoder's width that points along the axes `parts`. */
function at(...parts: number[]): Float32Array {
  const vector = new Float32Array(WIDTH);
  for (const [place, part] of parts.entries()) vector[place] = part / Math.hypot(...parts);
  return vector;
}

// Authors who write like the first vector need what the third stands for; those like the second, the fourth.
const needs = createNeeds(
  bytesOf([
    { text: spread(0), offers: spread(2) },
    { text: spread(1), offers: spread(3) },
  ]),
);

/** A unit vector over every fourth axis from `first`: its numbers are as small as those of the encoder. */
function spread(first: number): Float32Array {
  return Float32Array.from({ length: WIDTH }, (_, i) => (i % 4 === first ? (WIDTH / 4) ** -0.5 : 0));
}

test('an offer that met the needs of similar authors gets nearly all of them, others nothing', () => {
  const of = needs.likeIn(spread(0));
  expect(of(needs.metBy(spread(2)))).toBeCloseTo(0, 2);
  expect(of(needs.metBy(spread(3)))).toBeCloseTo(Math.log(0.001), 1);
});

test('a post between two needs is shared by both', () => {
  const both = spread(0).map((each, i) => (each + (spread(1)[i] ?? 0)) / Math.SQRT2);
  expect(needs.likeIn(both)(needs.metBy(spread(2)))).toBeCloseTo(Math.log(0.5), 1);
});

test('a post unlike all needs is neutral: every offer meets a tenth', () => {
  const unlike = needs.likeIn(at(0.6, -0.8));
  for (const axis of [2, 3]) expect(unlike(needs.metBy(spread(axis)))).toBeCloseTo(Math.log(0.1), 1);
});

test('only met needs are kept for an offer', () => {
  const { places, shares } = needs.metBy(spread(3));
  expect([...places]).toEqual([1]);
  expect(shares[0]).toBeGreaterThan(0.99);
  expect([...needs.metBy(at(1, 1, 1)).places]).toEqual([]);
});

test('the shipped needs are read whole: two unit vectors each', () => {
  const shipped = knownNeeds();
  const nothing = shipped.likeIn(at(1))(shipped.metBy(at(1)));
  expect(nothing).toBeGreaterThanOrEqual(Math.log(0.001));
  expect(nothing).toBeLessThanOrEqual(0.001);
  expect(knownNeeds()).toBe(shipped);
});

test('a file that is not whole is refused', () => {
  expect(() => createNeeds(new Uint8Array(WIDTH * 2 + 1))).toThrow('needs.bin');
  expect(() => createNeeds(new Uint8Array(0))).toThrow('needs.bin');
});
