import { largestOf } from '../lib/lists.ts';
import { escapeHtml } from '../lib/text.ts';

/**
 * Charts as HTML with inline SVG, rendered on the server: no script, no motion. Shapes stretch to the available
 * width; axis labels are separate text, so letters are never stretched. Each chart has a table with all its numbers.
 */

/** The height of every drawing, and the width of one step along the axis, in drawing units. */
const HEIGHT = 100;
const STEP = 10;
/** Ticks of the value axis above 0: the half and the maximum. */
const ROUND = [1, 2, 4, 5, 10];
/** The maximum number of labels along the axis; on a phone, more would overlap. */
const SHOWN_LABELS = 4;

/** How a series is drawn: the `look-…` class of the stylesheet. */
export type Look = 'hot' | 'warm' | 'cold' | 'one' | 'two' | 'three' | 'four' | 'good' | 'bad';

export interface Series {
  name: string;
  look: Look;
  /** One value per label; null if unknown, and then not drawn. */
  values: readonly (number | null)[];
  /** For `ranges`: the interval of each value. */
  between?: readonly ({ low: number; high: number } | null)[];
}

export interface Chart {
  title: string;
  /** What is counted, and over what period: "Signals per day, 24 Oct to 22 Nov 2026, UTC". */
  unit: string;
  /** Heading of the table's first column, such as "Day". */
  along: string;
  labels: readonly string[];
  series: readonly Series[];
  /** `bars` are stacked; `ranges` are points with their intervals. */
  kind: 'bars' | 'lines' | 'ranges';
  /** The end of the axis. Default: a round number above the largest value. */
  most?: number;
  /** Formats a value. Default: digits in groups of three. */
  show?: (value: number) => string;
  /** Lines across the label axis, each at a fraction of its length. */
  marks?: readonly { name: string; at: number; look: Look }[];
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** A chart with axes, legend and table. */
export function chartHtml(chart: Chart): string {
  const { title, unit, labels, series, marks = [], show = (value) => grouped.format(value) } = chart;
  const most = chart.most ?? roundAbove(largestValue(chart));
  const width = labels.length * STEP;
  const y = (value: number) => rounded(HEIGHT - (Math.min(value, most) / most) * HEIGHT);
  const drawn = { ...chart, show, y };
  const shapes = { bars: barsOf, lines: linesOf, ranges: rangesOf }[chart.kind](drawn);
  const lines = marks.map(({ at, look, name }) => {
    const x = rounded(at * width);
    return `<path class="mark look-${look}" d="M${x} 0V${HEIGHT}"><title>${escapeHtml(name)}</title></path>`;
  });
  const ticks = [most, most / 2, 0].map((value) => `<li>${escapeHtml(show(value))}</li>`).join('');
  const legend = [
    ...(series.length > 1 ? series.map(({ name, look }) => ({ name, look, sign: 'key' })) : []),
    ...marks.map(({ name, look }) => ({ name, look, sign: 'key line' })),
  ].map(({ name, look, sign }) => `<li><i class="${sign} look-${look}"></i>${escapeHtml(name)}</li>`);
  return [
    `<figure class="plot"><figcaption><strong>${escapeHtml(title)}</strong> <span class="soft">${escapeHtml(unit)}</span></figcaption>`,
    `<div class="plot-area"><ol class="plot-y" aria-hidden="true">${ticks}</ol>`,
    `<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escapeHtml(summaryOf(drawn))}">`,
    `<path class="grid" d="M0 0H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT}H${width}"/>${shapes}${lines.join('')}</svg>`,
    `<ol class="plot-x" aria-hidden="true">${someOf(labels)
      .map((label) => `<li>${escapeHtml(label)}</li>`)
      .join('')}</ol></div>`,
    legend.length === 0 ? '' : `<ul class="plot-legend">${legend.join('')}</ul>`,
    tableOf(drawn),
    '</figure>',
  ].join('');
}

/** Outcomes of a sequence of runs, oldest first, as a row of small marks, such as the runs of a source. */
export function stripHtml(
  summary: string,
  marks: readonly { look: 'good' | 'bad' | 'none'; title: string }[],
): string {
  const bars = marks.map(
    ({ look, title }, i) =>
      `<rect class="look-${look}" x="${i * 4}" width="3" height="16"><title>${escapeHtml(title)}</title></rect>`,
  );
  const width = Math.max(1, marks.length * 4 - 1);
  return `<svg class="strip" viewBox="0 0 ${width} 16" width="${width}" height="16" role="img" aria-label="${escapeHtml(summary)}">${bars.join('')}</svg>`;
}

export interface FunnelStep {
  name: string;
  count: number;
  /** Further cells of its row, in the order of the headings. */
  cells?: readonly string[];
}

/** How many reached each step, with its share of the previous step. */
export function funnelHtml(
  caption: string,
  steps: readonly FunnelStep[],
  { heads = [], look = 'one' }: { heads?: readonly string[]; look?: Look } = {},
): string {
  const first = steps[0]?.count ?? 0;
  const rows = steps.map(({ name, count, cells = [] }, at) => {
    const before = steps[at - 1]?.count ?? 0;
    const share = at === 0 || before === 0 ? '' : `${grouped.format((count / before) * 100)}%`;
    const more = cells.map(
      (cell, i) => `<td class="num" data-label="${escapeHtml(heads[i] ?? '')}">${escapeHtml(cell)}</td>`,
    );
    return `<tr><th scope="row">${escapeHtml(name)}</th><td class="wide-bar">${barHtml(first === 0 ? 0 : count / first, look)}</td><td class="num" data-label="Count">${grouped.format(count)}</td><td class="num" data-label="Of previous step">${share === '' ? '<span class="none">–</span>' : share}</td>${more.join('')}</tr>`;
  });
  const head = ['Count', 'Of previous step', ...heads].map(
    (name) => `<th class="num" scope="col">${escapeHtml(name)}</th>`,
  );
  return `<div class="table funnel"><table><caption class="hidden">${escapeHtml(caption)}</caption><thead><tr><th scope="col">Step</th><th scope="col"><span class="hidden">Share of the first step</span></th>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** A bar for a share, for a table cell that also shows the number. */
function barHtml(share: number, look: Look): string {
  const width = rounded(Math.max(0, Math.min(1, share)) * 100);
  return `<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="look-${look}" width="${width}" height="8"/></svg>`;
}

/** "23 Nov" for the day `2026-11-23`. */
export function dayLabel(day: string): string {
  return DAY.format(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1, Number(day.slice(8, 10))));
}

/** "24 Oct to 22 Nov 2026" for two days. */
export function spanLabel(from: string, to: string): string {
  const year = from.slice(0, 4) === to.slice(0, 4) ? '' : ` ${from.slice(0, 4)}`;
  return `${dayLabel(from)}${year} to ${dayLabel(to)} ${to.slice(0, 4)}`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

interface Drawn extends Chart {
  show: (value: number) => string;
  y: (value: number) => number;
}

function barsOf({ labels, series, show, y }: Drawn): string {
  return labels
    .map((label, at) => {
      let under = 0;
      const parts = series.map(({ values, look }) => {
        const value = values[at] ?? 0;
        const [foot, head] = [y(under), y(under + value)];
        under += value;
        return value === 0
          ? ''
          : `<rect class="look-${look}" x="${at * STEP + 1}" y="${head}" width="${STEP - 2}" height="${rounded(foot - head)}"/>`;
      });
      return `<g><title>${escapeHtml(pointWords(label, at, { series, show }))}</title><rect class="reach" x="${at * STEP}" y="0" width="${STEP}" height="${HEIGHT}"/>${parts.join('')}</g>`;
    })
    .join('');
}

function linesOf({ series, y }: Drawn): string {
  return series
    .map(({ values, look }) => {
      let isDown = false;
      const path = values.map((value, at) => {
        const step = value === null ? '' : `${isDown ? 'L' : 'M'}${at * STEP + STEP / 2} ${y(value)}`;
        isDown = value !== null;
        return step;
      });
      return `<path class="curve look-${look}" d="${path.join('')}"/>`;
    })
    .join('');
}

function rangesOf({ labels, series, show, y }: Drawn): string {
  return series
    .flatMap(({ values, between = [], look, name }) =>
      values.map((value, at) => {
        if (value === null) return '';
        const x = at * STEP + STEP / 2;
        const range = between[at];
        const words = `${labels[at] ?? ''}: ${name} ${show(value)}${range ? `, ${show(range.low)} to ${show(range.high)}` : ''}`;
        const reach = range
          ? `<path class="reach-line look-${look}" d="M${x} ${y(range.low)}V${y(range.high)}"/>`
          : '';
        return `<g><title>${escapeHtml(words)}</title>${reach}<path class="dot look-${look}" d="M${x} ${y(value)}h0"/></g>`;
      }),
    )
    .join('');
}

function tableOf({ along, labels, series, show }: Drawn): string {
  const cell = (one: Series, at: number) => {
    const value = one.values[at] ?? null;
    const range = one.between?.[at];
    if (value === null) return '–';
    return show(value) + (range ? ` (${show(range.low)} to ${show(range.high)})` : '');
  };
  const head = [along, ...series.map(({ name }) => name)];
  const rows = labels.map(
    (label, at) =>
      `<tr><th scope="row">${escapeHtml(label)}</th>${series.map((one) => `<td class="num">${escapeHtml(cell(one, at))}</td>`).join('')}</tr>`,
  );
  return `<details><summary>Numbers</summary><div class="plot-table" tabindex="0" role="group" aria-label="Numbers"><table><thead><tr>${head
    .map((name, at) => `<th scope="col"${at === 0 ? '' : ' class="num"'}>${escapeHtml(name)}</th>`)
    .join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div></details>`;
}

/** The summary for screen readers; the table has the rest. */
function summaryOf({ title, unit, series, show, kind }: Drawn): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    if (kind === 'ranges')
      return known.length === 0 ? `${name}: none` : `${name}: last ${show(known.at(-1) ?? 0)}`;
    return `${name}: ${show(known.reduce((sum, value) => sum + value, 0))} in total, at most ${show(largestOf(known, 0))}`;
  });
  return `${title}. ${unit}. ${parts.join('; ')}.`;
}

function pointWords(label: string, at: number, { series, show }: Pick<Drawn, 'series' | 'show'>): string {
  return `${label}: ${series.map(({ name, values }) => `${show(values[at] ?? 0)} ${name.toLowerCase()}`).join(', ')}`;
}

function largestValue({ kind, labels, series }: Chart): number {
  if (kind === 'bars') {
    const sums = labels.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
    return largestOf(sums, 0);
  }
  return largestOf(
    series.flatMap(({ values }) => values.map((value) => value ?? 0)),
    0,
  );
}

/** A round number, at least 2, whose half is equally round, so that no tick is a fraction of a count. */
export function roundAbove(value: number): number {
  if (value <= 2) return 2;
  const scale = 10 ** Math.floor(Math.log10(value));
  const isWhole = (factor: number) => Number.isInteger((factor * scale) / 2);
  const factor = ROUND.find((candidate) => candidate * scale >= value && isWhole(candidate)) ?? 10;
  return factor * scale;
}

/** The first label, the last, and as many between them as fit. */
function someOf(labels: readonly string[]): string[] {
  if (labels.length <= SHOWN_LABELS) return [...labels];
  const last = labels.length - 1;
  return Array.from(
    { length: SHOWN_LABELS },
    (_, i) => labels[Math.round((i * last) / (SHOWN_LABELS - 1))] ?? '',
  );
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
