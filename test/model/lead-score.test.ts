import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blankLead } from '../../src/leads/facts.ts';
import { toIso } from '../../src/lib/clock.ts';
import { CLASSIFICATIONS } from '../../src/model/constants.ts';
import { attachSignals, rescored, scoredBy } from '../../src/model/lead-score.ts';

const scored = fc.record({
  icp_score: fc.integer({ min: 0, max: 3 }),
  classification: fc.constantFrom(...CLASSIFICATIONS),
});
const signals = fc.array(scored, { minLength: 1, maxLength: 6 });
const withTimes = (some: readonly { icp_score: number; classification: 'hot' | 'warm' | 'cold' }[]) =>
  some.map((each, i) => ({ ...each, timestamp: toIso(i) }));

test('edits change the score of a lead as if all of its signals had been read, unless only these tell', () => {
  const edits = fc.array(fc.tuple(fc.nat(), scored), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(signals, edits, (before, changes) => {
      const lead = attachSignals(blankLead('led_1', 0), withTimes(before));
      const now = [...before];
      const made = changes.map(([which, after]) => {
        const place = which % now.length;
        const edit = { before: now[place] ?? after, after };
        now[place] = after;
        return edit;
      });
      const all = attachSignals(blankLead('led_1', 0), withTimes(now));
      const found = rescored(lead, made);
      if (found !== null) expect(found).toEqual(all);
      else expect(made.some((edit) => edit.before.icp_score >= (all.icp_score ?? 0))).toBe(true);
    }),
  );
});

test('an edit of any other signal than the best, or to a better score, needs no other signals', () => {
  const lead = attachSignals(blankLead('led_1', 0), [
    { icp_score: 80, classification: 'hot', timestamp: toIso(1) },
  ]);
  const of = (icp_score: number) => ({ icp_score, classification: 'hot' as const });
  expect(rescored(lead, [{ before: of(50), after: of(60) }])).toEqual(lead);
  expect(rescored(lead, [{ before: of(80), after: of(90) }])).toMatchObject({ icp_score: 90 });
  expect(rescored(lead, [{ before: of(80), after: of(70) }])).toBeNull();
  expect(rescored(blankLead('led_2', 0), [{ before: of(1), after: of(2) }])).toMatchObject({ icp_score: 2 });
});

test('the best signals of each class score a lead like all of its signals', () => {
  fc.assert(
    fc.property(signals, (some) => {
      const classes = Map.groupBy(some, ({ classification }) => classification);
      const best = [...classes].map(([classification, own]) => ({
        classification,
        score: Math.max(...own.map(({ icp_score }) => icp_score)),
      }));
      const { icp_score, classification } = attachSignals(blankLead('led_1', 0), withTimes(some));
      const lead = { ...blankLead('led_1', 0), icp_score: 99, signal_count: 5 };
      expect(scoredBy(lead, best)).toEqual({ ...lead, icp_score, classification });
    }),
  );
  const lead = { ...blankLead('led_1', 0), icp_score: 99, classification: 'hot' as const };
  expect(scoredBy(lead, [])).toMatchObject({ icp_score: null, classification: null });
});
