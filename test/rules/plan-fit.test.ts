import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitToPlan, overPlanMail } from '../../src/rules/endpoints.ts';
import { T0 } from '../support/store.ts';

test('pauses the newest endpoints over the limit, and ends probes if the limit is reached', () => {
  const fit = fitToPlan({ active: ['a', 'b', 'c'], pausedByPlan: ['d'] }, 2);
  expect(fit).toEqual({ pause: ['c'], resume: [], endsProbes: true });
});

test('resumes the oldest endpoints paused by a plan if the limit allows', () => {
  const fit = fitToPlan({ active: ['a'], pausedByPlan: ['b', 'c', 'd'] }, 3);
  expect(fit).toEqual({ pause: [], resume: ['b', 'c'], endsProbes: false });
});

test('leaves exactly as many endpoints active as the limit allows, for any limit', () => {
  const names = fc.integer({ min: 0, max: 9 }).map((n) => Array.from({ length: n }, (_, i) => `whk_${i}`));
  fc.assert(
    fc.property(names, names, fc.option(fc.integer({ min: 0, max: 12 })), (active, pausedByPlan, limit) => {
      const { pause, resume } = fitToPlan({ active, pausedByPlan }, limit);
      const after = active.length - pause.length + resume.length;
      expect(after).toBe(Math.min(active.length + pausedByPlan.length, limit ?? Infinity));
    }),
  );
});

test('notifies the owner only of endpoints paused by a plan', () => {
  const change = { tenantId: 'ten_a', plan: 'starter', limit: 1, now: T0 } as const;
  expect(overPlanMail({ ...change, paused: [] })).toBeNull();
  expect(overPlanMail({ ...change, paused: ['whk_1'] })).toEqual({
    id: `mal_a_${T0}`,
    tenantId: 'ten_a',
    facts: { kind: 'endpoints_over_plan', plan: 'starter', limit: 1, endpointIds: ['whk_1'] },
    createdAt: T0,
  });
});
