import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OFFER_MODEL, offerBias } from '../../src/signals/judge.ts';

const odds = fc.double({ min: -60, max: 60, noNaN: true });
const QUESTIONS = ['hot', 'warm'] as const;

/** Log-odds of a post for a profile with an offer. */
function total(question: (typeof QUESTIONS)[number], buys: number, wants: number): number {
  const bias = offerBias({ hot: buys, warm: buys }, { hot: wants, warm: wants });
  return buys + wants + bias[question];
}

test('strong intent does not make up for wanting something else, nor a strong match for a lack of intent', () => {
  fc.assert(
    fc.property(odds, odds, (buys, wants) => {
      for (const question of QUESTIONS) {
        const { generalBias, bias, cut } = OFFER_MODEL[question];
        const weaker = Math.min(buys + generalBias, wants + bias);
        expect(total(question, buys, wants)).toBeLessThanOrEqual(weaker - cut + 1e-6);
      }
    }),
  );
});

test('more intent or a better match never lowers the score', () => {
  const more = fc.double({ min: 0, max: 10, noNaN: true });
  fc.assert(
    fc.property(odds, odds, more, (buys, wants, rise) => {
      for (const question of QUESTIONS) {
        const before = total(question, buys, wants);
        expect(total(question, buys + rise, wants)).toBeGreaterThanOrEqual(before - 1e-6);
        expect(total(question, buys, wants + rise)).toBeGreaterThanOrEqual(before - 1e-6);
      }
    }),
  );
});
