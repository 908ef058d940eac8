import { z } from 'zod';
import { isTimeZone } from '../lib/time-zone.ts';

const timezone = z
  .string()
  .trim()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone such as "America/New_York"')
  .describe('IANA time zone, such as `America/New_York`.');

const digest = {
  enabled: z.boolean().describe('Whether a daily digest is created on days with new signals.'),
  hour: z
    .int()
    .min(0)
    .max(23)
    .describe('Hour of the day at which the digest is created, from 0 to 23 in the time zone.'),
};

/** The settings of a tenant, as every API shows them. */
export const settingsSchema = z
  .strictObject({
    timezone: z.string().describe('IANA time zone of the account.'),
    digest: z.strictObject(digest).describe('The daily digest.'),
  })
  .meta({ id: 'Settings', description: 'Settings of the account.' });
export type Settings = z.infer<typeof settingsSchema>;

/** Body of `PATCH /v1/settings`: omitted members stay as they are. */
export const settingsPatchSchema = z.strictObject({
  timezone: timezone.optional(),
  digest: z
    .strictObject({ enabled: digest.enabled.optional(), hour: digest.hour.optional() })
    .describe('The daily digest.')
    .optional(),
});
export type SettingsPatch = z.infer<typeof settingsPatchSchema>;

/** Settings as stored, with the progress of the digest. Times are Unix milliseconds. */
export interface TenantSettings extends Settings {
  tenantId: string;
  /** When the next digest is due; 0: not planned yet. */
  digestDueAt: number;
  /** When signals were last looked for; null: never. The first digest has no older signals. */
  digestSince: number | null;
  /** Position in the commit order up to which signals were counted: a late commit can have an earlier time. */
  digestPosition: number;
  digestMadeAt: number | null;
}
