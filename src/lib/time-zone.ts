import { IANAZone } from 'luxon';

/** Whether `name` is a zone of the IANA database; offsets such as `+01:00` know no daylight-saving time and are none. */
export function isTimeZone(name: string): boolean {
  return /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name);
}
