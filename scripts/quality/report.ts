import { CLASSIFICATIONS } from '../../src/model/constants.ts';
import { SIGNAL_TYPES } from '../../src/model/signal.ts';
import type { Example } from '../train/data.ts';
import { areaUnderCurve } from '../train/figures.ts';
import { TARGETS } from '../train/settings.ts';
import type { Judged } from './scored.ts';

const isFound = (judged: Judged) => judged.predicted !== 'cold';
const isHot = (judged: Judged) => judged.predicted === 'hot';
const labelledHot = ({ example }: Judged) => example.label === 'hot';
const labelledFound = ({ example }: Judged) => example.label !== 'cold';

/** Precision and recall of each set, with its targets. Posts by consumers are excluded. */
export function tableLines(all: readonly Judged[]): string[] {
  const head = [
    'set',
    'hot precision',
    'hot recall',
    'hot+warm precision',
    'hot+warm recall',
    'hot at least warm',
    'AUC hot',
  ];
  const lines = Object.entries(TARGETS).flatMap(([set, targets]) => {
    const rows = all.filter(({ example }) => example.set === set && example.kind !== 'consumer');
    if (rows.length === 0) return [];
    const shares = [
      shareOf(rows.filter(isHot), labelledHot),
      shareOf(rows.filter(labelledHot), isHot),
      shareOf(rows.filter(isFound), labelledFound),
      shareOf(rows.filter(labelledFound), isFound),
      shareOf(rows.filter(labelledHot), isFound),
    ];
    const auc = areaUnderCurve(
      rows.map(({ score }) => score),
      rows.map(labelledHot),
    );
    const cells = shares.map((share, i) => `${share.text}${targetText(share.value, targets[i])}`);
    return [[set, ...cells, `${auc.toFixed(3)}${targetText(auc, targets[5])}`]];
  });
  return align([head, ...lines]);
}

function targetText(value: number, target: number | undefined): string {
  if (target === undefined) return '';
  return value < target ? ` <${target.toFixed(2)}!` : ` ≥${target.toFixed(2)}`;
}

export function confusionLines(all: readonly Judged[]): string[] {
  const count = (label: string, predicted: string) =>
    all.filter((each) => each.example.label === label && each.predicted === predicted).length;
  return align(
    CLASSIFICATIONS.map((label) => [
      `${label}:`,
      ...CLASSIFICATIONS.map((predicted) => String(count(label, predicted))),
    ]),
  );
}

/** By score band: the number of posts, the share labelled hot, and the share labelled hot or warm. */
export function calibrationLines(all: readonly Judged[]): string[] {
  const bands = Array.from({ length: 10 }, (_, i) => i * 10);
  return align(
    bands.map((from) => {
      const rows = all.filter(({ score }) => score >= from && (score < from + 10 || from === 90));
      const [hot, found] = [shareOf(rows, labelledHot), shareOf(rows, labelledFound)];
      return [`${from}–${from === 90 ? 100 : from + 9}:`, String(rows.length), hot.text, found.text];
    }),
  );
}

export function typeLines(all: readonly Judged[]): string[] {
  const rows = all.filter(labelledFound);
  return align(
    SIGNAL_TYPES.map((type) => {
      const of = rows.filter(({ example }) => example.type === type);
      const as = rows.filter((each) => each.type === type && each.example.type !== '');
      const [recall, precision] = [
        shareOf(of, (each) => each.type === type),
        shareOf(as, ({ example }) => example.type === type),
      ];
      return [`${type}:`, `${of.length} posts`, `recall ${recall.text}`, `precision ${precision.text}`];
    }),
  );
}

export function sliceLines(all: readonly Judged[], keyOf: (example: Example) => string): string[] {
  const keys = [...new Set(all.map(({ example }) => keyOf(example)))].sort();
  return align(
    keys.map((key) => {
      const rows = all.filter(({ example }) => keyOf(example) === key);
      const shares = [
        shareOf(rows.filter(isHot), labelledHot),
        shareOf(rows.filter(labelledHot), isHot),
        shareOf(rows.filter(isFound), labelledFound),
        shareOf(rows.filter(labelledFound), isFound),
      ];
      const names = ['hot precision', 'recall', 'hot+warm precision', 'recall'];
      return [key, `${rows.length} posts`, ...shares.map(({ text }, i) => `${names[i]} ${text}`)];
    }),
  );
}

/** A share with its 95 % interval (Wilson). */
function shareOf(
  rows: readonly Judged[],
  test: (judged: Judged) => boolean,
): { value: number; text: string } {
  const n = rows.length;
  if (n === 0) return { value: 0, text: '–' };
  const value = rows.filter(test).length / n;
  const z = 1.96;
  const middle = (value + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z / (1 + z ** 2 / n)) * Math.sqrt((value * (1 - value)) / n + z ** 2 / (4 * n ** 2));
  const two = (number: number) => Math.max(0, Math.min(1, number)).toFixed(2).replace(/^0/, '');
  return { value, text: `${two(value)} [${two(middle - half)} ${two(middle + half)}]` };
}

function align(lines: readonly (readonly string[])[]): string[] {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
