import type { SiteIdentity } from './identity.ts';

const WEEK: readonly string[] = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

/** Opening hours as people write them: `Monday to Friday`, `07:30–18:00`. */
export function openingHours(hours: SiteIdentity['openingHours']): { days: string; times: string }[] {
  return hours.map(({ days, opens, closes }) => ({ days: describeDays(days), times: `${opens}–${closes}` }));
}

/** Three days or more that follow each other are told by the first and the last. */
function describeDays(days: readonly string[]): string {
  const places = days.map((day) => WEEK.indexOf(day)).sort((a, b) => a - b);
  const names = places.map((place) => WEEK[place]);
  const isRun = places.every((place, index) => place === (places[0] ?? 0) + index);
  return isRun && names.length > 2 ? `${names[0]} to ${names.at(-1)}` : names.join(', ');
}
