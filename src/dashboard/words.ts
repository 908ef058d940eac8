import { DAY_MS, fromIso, HOUR_MS, toIso } from '../lib/clock.ts';
import { eventLabel } from './delivery-words.ts';

const STEPS: [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', 60_000],
  ['second', 1_000],
];

/** How the templates put numbers and moments into words. What returns HTML has `Html` in its name. */
export interface Words {
  /** `<time>` with words relative to now; the script adds the moment in the viewer's own zone. */
  timeHtml(moment: string | number | null | undefined): string;
  /** "3 hours ago", "in 5 minutes". */
  ago(moment: string | number): string;
  /** Whether a moment has come. */
  isPast(moment: string | number): boolean;
  /** "1 retry", "2 retries". */
  count(n: number, one: string, many?: string): string;
  duration(ms: number): string;
  number(n: number): string;
  /** `signal_type` → "Signal type". */
  label(name: string): string;
  /** `signal.new_hot` → "New hot signal". */
  event(type: string): string;
}

/** Stands where nothing is known; on a phone such a cell takes no line. */
const NONE_HTML = '<span class="none">–</span>';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const grouped = new Intl.NumberFormat('en');

const SPELLED = new Map(
  ['DNS', 'HTTP', 'ICP', 'ID', 'IDs', 'LinkedIn', 'SMS', 'TLS', 'URL'].map((word) => [
    word.toLowerCase(),
    word,
  ]),
);

/** `signal_type` → "Signal type"; `linkedin_url` → "LinkedIn URL". */
export function labelOf(name: string): string {
  const words = name.split(/[_.]/).map((word) => SPELLED.get(word) ?? word);
  const label = words.join(' ');
  return label.charAt(0).toUpperCase() + label.slice(1);
}

export function createWords(now: number): Words {
  const msOf = (moment: string | number) => (typeof moment === 'number' ? moment : fromIso(moment));
  function ago(moment: string | number): string {
    const difference = msOf(moment) - now;
    for (const [unit, ms] of STEPS) {
      if (Math.abs(difference) >= ms) return relative.format(Math.trunc(difference / ms), unit);
    }
    return 'just now';
  }
  return {
    ago,
    timeHtml(moment) {
      if (moment === null || moment === undefined || moment === '') return NONE_HTML;
      const ms = msOf(moment);
      if (Number.isNaN(ms)) return NONE_HTML;
      const iso = toIso(ms);
      const exact = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
      return `<time datetime="${iso}" title="${exact}">${ago(ms)}</time>`;
    },
    isPast: (moment) => msOf(moment) <= now,
    count: (n, one, many = `${one}s`) => `${grouped.format(n)} ${n === 1 ? one : many}`,
    duration: (ms) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`),
    number: (n) => grouped.format(n),
    label: labelOf,
    event: eventLabel,
  };
}
