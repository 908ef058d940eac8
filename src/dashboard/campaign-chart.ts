import { largestOf } from '../lib/lists.ts';
import type { CampaignStats, Counted } from '../model/campaign-stats.ts';

/** One line of the chart. `points` are those of an SVG polyline in a field of {@link WIDTH} by {@link HEIGHT}. */
export interface ChartLine {
  name: Counted;
  total: number;
  points: string;
}

export const WIDTH = 600;
export const HEIGHT = 160;
/** What is drawn; the table beside it has the rest. */
const DRAWN = ['sent', 'opened', 'clicked', 'replied'] as const satisfies Counted[];

/** The events of a campaign over time; null where there are fewer than two points to draw a line between. */
export function chartOf({ series }: CampaignStats): { lines: ChartLine[]; most: number } | null {
  if (series.length < 2) return null;
  const most = largestOf(
    series.flatMap(({ counts }) => DRAWN.map((name) => counts[name].total)),
    1,
  );
  const step = WIDTH / (series.length - 1);
  const lines = DRAWN.map((name) => {
    const values = series.map(({ counts }) => counts[name].total);
    const points = values.map(
      (value, i) => `${rounded(i * step)},${rounded(HEIGHT - (value / most) * HEIGHT)}`,
    );
    return { name, total: values.reduce((sum, value) => sum + value, 0), points: points.join(' ') };
  });
  return { lines, most };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
