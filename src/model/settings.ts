import { z } from 'zod';
import { isTimeZone } from '../lib/time-zone.ts';

const timezone = z
  .string()
  .trim()
  .max(64)
  .refine(isTimeZone, 'must be a time zone of the IANA database such as "America/New_York"')
  .describe('IANA time zone, such as "America/New_York"');

const digest = {
  enabled: z.boolean().describe('Whether the daily digest is made, where anything was found'),
  hour: z.int().min(0).max(23).describe('The hour of the day, in the time zone'),
};

/** What a tenant has settled, on the wire. */
export const settingsSchema = z
  .strictObject({
    timezone: z.string().describe('IANA time zone'),
    digest: z.strictObject(digest).describe('The daily digest'),
  })
  .meta({ id: 'Settings' })
  .describe('What a tenant has settled');
export type Settings = z.infer<typeof settingsSchema>;

/** A change of settings: what is left out stays as it is. */
export const settingsPatchSchema = z.strictObject({
  timezone: timezone.optional(),
  digest: z
    .strictObject({ enabled: digest.enabled.optional(), hour: digest.hour.optional() })
    .describe('The daily digest')
    .optional(),
});
export type SettingsPatch = z.infer<typeof settingsPatchSchema>;

/** Settings as stored, with where the digest stands. Times are Unix milliseconds. */
export interface TenantSettings extends Settings {
  tenantId: string;
  /** When the next digest is due; 0: not planned yet. */
  digestDueAt: number;
  /** When the last look for signals was; null: never, and none from before the first is told of. */
  digestSince: number | null;
  /** The place in the order by commit up to which signals were counted: one that commits late has an earlier time. */
  digestPosition: number;
  digestMadeAt: number | null;
}
