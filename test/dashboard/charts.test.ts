import { expect, test } from 'vitest';
import {
  type Chart,
  chartHtml,
  dayLabel,
  funnelHtml,
  roundAbove,
  spanLabel,
  stripHtml,
} from '../../src/dashboard/charts.ts';

const CHART: Chart = {
  title: 'Hot and warm',
  unit: 'Signals a day, UTC',
  along: 'Day',
  labels: ['21 Nov', '22 Nov', '23 Nov'],
  series: [
    { name: 'Hot', look: 'hot', values: [1, 0, 3] },
    { name: 'Warm', look: 'warm', values: [2, null, 5] },
  ],
  kind: 'bars',
};

test('bars are stacked on one axis, which starts at zero and ends at a round number', () => {
  const html = chartHtml(CHART);
  expect(html).toContain('<li>10</li><li>5</li><li>0</li>');
  // 3 hot of 10 at the bottom, and 5 warm on top of them.
  expect(html).toContain('<rect class="look-hot" x="21" y="70" width="8" height="30"/>');
  expect(html).toContain('<rect class="look-warm" x="21" y="20" width="8" height="50"/>');
  expect(html).toContain('<title>23 Nov: 3 hot, 5 warm</title>');
});

test('the image has a description, and its table contains every number', () => {
  const html = chartHtml(CHART);
  expect(html).toContain(
    'aria-label="Hot and warm. Signals a day, UTC. Hot: 4 in total, at most 3; Warm: 7 in total, at most 5."',
  );
  expect(html).toContain('<th scope="row">22 Nov</th><td class="num">0</td><td class="num">–</td>');
});

test('a line has a gap where a value is unknown', () => {
  const series = [{ name: 'Sent', look: 'one', values: [0, null, 10, 5] }] as const;
  const html = chartHtml({ ...CHART, labels: ['a', 'b', 'c', 'd'], series, kind: 'lines' });
  expect(html).toContain('d="M5 100M25 0L35 50"');
});

test('a point shows its interval, also as text', () => {
  const values = [null, 0.5, 1];
  const between = [null, { low: 0.2, high: 0.8 }, { low: 0.4, high: 1 }];
  const show = (value: number) => `${Math.round(value * 100)}%`;
  const html = chartHtml({
    ...CHART,
    series: [{ name: 'Precision', look: 'one', values, between }],
    ...{ kind: 'ranges', most: 1, show },
  });
  expect(html).toContain('<title>22 Nov: Precision 50%, 20% to 80%</title>');
  expect(html).toContain('d="M15 80V20"');
  expect(html).toContain('50% (20% to 80%)');
  expect(html).toContain('Precision: last 100%');
});

test('marks cross the axis at their values, and are named in the legend', () => {
  const html = chartHtml({ ...CHART, marks: [{ name: 'Hot from 70', at: 0.7, look: 'hot' }] });
  expect(html).toContain('<path class="mark look-hot" d="M21 0V100"><title>Hot from 70</title></path>');
  expect(html).toContain('<i class="key line look-hot"></i>Hot from 70');
});

test('names are escaped, whatever they contain', () => {
  const name = '"><script>alert(1)</script>';
  const series = [{ name, look: 'one', values: [1] }] as const;
  const html = chartHtml({ ...CHART, title: name, unit: name, along: name, labels: [name], series });
  expect(html).not.toContain('<script>');
  expect(stripHtml(name, [{ look: 'good', title: name }])).not.toContain('<script>');
});

test('a chart without data is rendered empty', () => {
  expect(chartHtml({ ...CHART, labels: [], series: [] })).toContain('viewBox="0 0 0 100"');
});

test.each([
  [0, 2],
  [1, 2],
  [3, 4],
  [5, 10],
  [7, 10],
  [11, 20],
  [45, 50],
  [51, 100],
  [1_234_567, 2_000_000],
])('an axis of values up to %i ends at %i', (value, end) => {
  expect(roundAbove(value)).toBe(end);
});

test('days are formatted the way people write them', () => {
  expect(dayLabel('2026-11-03')).toBe('3 Nov');
  expect(spanLabel('2026-10-25', '2026-11-23')).toBe('25 Oct to 23 Nov 2026');
  expect(spanLabel('2025-12-25', '2026-01-23')).toBe('25 Dec 2025 to 23 Jan 2026');
});

test('a funnel shows each step with its share of the previous one', () => {
  const steps = [
    { name: 'Read', count: 200, cells: ['1.5'] },
    { name: 'Matched', count: 50, cells: ['2'] },
    { name: 'Relevant', count: 0 },
  ];
  const html = funnelHtml('Posts', steps, { heads: ['Days'] });
  expect(html).toMatch(
    /Matched<\/th>.*?width="25".*?>50<\/td>.*?>25%<\/td><td class="num" data-label="Days">2</,
  );
  expect(html).toMatch(/Relevant<\/th>.*?width="0".*?>0%<\/td>/);
  expect(funnelHtml('None', [])).toContain('<tbody></tbody>');
});
