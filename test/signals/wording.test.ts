import { expect, test } from 'vitest';
import { bytesOf } from '../../scripts/train/wording-file.ts';
import { tokenize } from '../../src/signals/tokens.ts';
import { createWording, knownWording, placesOf, WORDING_PLACES } from '../../src/signals/wording.ts';

const NOTHING = { hot: 0, warm: 0 };

function weightsOf(text: string, weight: number): Float64Array {
  const weights = new Float64Array(WORDING_PLACES);
  for (const place of placesOf(tokenize(text).stems)) weights[place] = weight;
  return weights;
}

function shippedOdds(text: string) {
  return knownWording().oddsOf(tokenize(text).stems);
}

test('a post has a place for each word and each pair of neighbours, however often they occur', () => {
  expect(placesOf(['need', 'a', 'crm']).size).toBe(5);
  expect(placesOf(['crm', 'need', 'crm', 'need']).size).toBe(4); // crm, need, crm need, need crm
  expect(placesOf(['need', 'crm'])).not.toEqual(placesOf(['crm', 'need']));
  expect(placesOf([]).size).toBe(0);
});

test('the weights of places add up, divided by the length of the post, less the centre', () => {
  const wording = createWording(
    bytesOf({ hot: weightsOf('need crm', 2), warm: weightsOf('need crm', -1) }, { hot: 0.5, warm: 0 }),
  );
  const { hot, warm } = wording.oddsOf(['need', 'crm']);
  expect(hot).toBeCloseTo((3 * 2) / Math.sqrt(3) - 0.5, 4);
  expect(warm).toBeCloseTo((3 * -1) / Math.sqrt(3), 4);
  expect(wording.oddsOf(['other']).hot).toBeCloseTo(-0.5, 4);
  expect(wording.oddsOf([]).hot).toBeCloseTo(-0.5, 4);
});

test('weights keep a hundredth of the largest', () => {
  const weights = new Float64Array(WORDING_PLACES);
  const [place = 0] = placesOf(['crm']);
  weights[place] = 0.5;
  weights[(place + 1) % WORDING_PLACES] = 3;
  const wording = createWording(bytesOf({ hot: weights, warm: weights }, NOTHING));
  expect(Math.abs(wording.oddsOf(['crm']).hot - 0.5)).toBeLessThan(0.03);
});

test('a post of any length is read in bounded time', () => {
  const stems = Array.from({ length: 100_000 }, (_, i) => `word${i}`);
  expect(placesOf(stems)).toEqual(placesOf(stems.slice(0, 1_000)));
});

test('the shipped weights tell those who ask from those who tell', () => {
  const asks = shippedOdds('Looking for recommendations: which agency would you hire? Our budget is set.');
  const tells = shippedOdds('I built a side project last weekend and wrote about what I learned.');
  expect(asks.hot).toBeGreaterThan(tells.hot + 1);
  expect(asks.warm).toBeGreaterThan(tells.warm + 1);
  expect(knownWording()).toBe(knownWording());
});

test('a file that is not whole is refused', () => {
  expect(() => createWording(new Uint8Array(100))).toThrow('wording.bin has 100 bytes');
});
