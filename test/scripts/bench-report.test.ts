import { expect, test } from 'vitest';
import { type Figure, medianOf, table } from '../../bench/report.ts';

const figure = (ours: number, floor: number, extra = {}): Figure => ({
  ...{ bench: 'dispatch', variant: 'HTTP', ours, floor, unit: 'deliveries/s' },
  ...{ ratio: ours / floor, ...extra },
});

test('for several runs, each figure is the median, with the details of the median run', () => {
  const runs = [figure(9, 10, { peak: 1 }), figure(4, 10, { peak: 2 }), figure(14, 20, { peak: 3 })];
  expect(medianOf(runs.map((one) => [one]))).toEqual([{ ...figure(9, 10), ratio: 0.7, peak: 3, runs: 3 }]);
  expect(medianOf([[figure(1, 2)]])).toEqual([figure(1, 2)]);
});

test('all of them are shown as a table', () => {
  expect(table([figure(11_777.4, 16_047)]).split('\n')[2]).toBe(
    '| dispatch: HTTP | 11777 deliveries/s | 16047 | 0.73 |',
  );
});
