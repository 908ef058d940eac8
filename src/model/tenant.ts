import { IANAZone, Settings as LuxonSettings } from 'luxon';
import { z } from 'zod';

export const PLANS = ['trial', 'starter', 'pro', 'enterprise'] as const;
export const planSchema = z.enum(PLANS);
/** The plan of a tenant. `trial` is Pro for 14 days, then `starter`. */
export type Plan = z.infer<typeof planSchema>;

/** A customer account; everything else belongs to exactly one. Times are Unix milliseconds. */
export interface Tenant {
  id: string;
  name: string;
  plan: Plan;
  trialEndsAt: number | null;
  createdAt: number;
}

/** A person of a tenant. `setupTokenHash` is the SHA-256 of the one-time token in the set-up link. */
export interface Owner {
  id: string;
  tenantId: string;
  email: string;
  setupTokenHash: string;
  setupExpiresAt: number;
  createdAt: number;
}

/**
 * Permissions of a person: an owner may do everything, a member everything except team, plan and keys, a
 * reader only view.
 */
export const ROLES = ['owner', 'member', 'reader'] as const;
export type Role = (typeof ROLES)[number];

/** A person of a tenant who may sign in. Times are Unix milliseconds. */
export interface User {
  id: string;
  tenantId: string;
  email: string;
  role: Role;
  /** Argon2id in PHC form; null until a password was chosen. */
  passwordHash: string | null;
  /** Whether log-in asks for a code too. */
  hasSecondFactor: boolean;
  createdAt: number;
}

/** A browser that is signed in. Only the SHA-256 of its token is stored. */
export interface Session {
  tokenHash: string;
  /** Its ID in lists. */
  id: string;
  /** The browser in words, such as "Firefox on Linux"; empty if unknown. */
  client: string;
  userId: string;
  createdAt: number;
  /** Last use, to the minute. */
  seenAt: number;
  /** Extended with use, up to a limit. */
  expiresAt: number;
}

const timezone = z
  .string()
  .trim()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone such as "America/New_York"')
  .describe('IANA time zone, such as `America/New_York`.');

const DIGEST_FREQUENCIES = ['daily', 'weekly'] as const;
export type DigestFrequency = (typeof DIGEST_FREQUENCIES)[number];

const digest = {
  enabled: z.boolean().describe('Whether a digest is created when there are new signals.'),
  hour: z
    .int()
    .min(0)
    .max(23)
    .describe('Hour of the day at which the digest is created, from 0 to 23 in the time zone.'),
  frequency: z.enum(DIGEST_FREQUENCIES).describe('`daily`, or `weekly` on Mondays.'),
};

/** The settings of a tenant as returned by every API. */
export const settingsSchema = z
  .strictObject({
    timezone: z.string().describe('IANA time zone of the account.'),
    digest: z
      .strictObject({
        ...digest,
        icp_profile_ids: z.array(z.string()).describe('Profiles whose signals it has; empty: all profiles.'),
        recipients: z.array(z.string()).describe('Email addresses of the members who get it by mail.'),
      })
      .describe('The digest of new signals.'),
  })
  .meta({ id: 'Settings', description: 'Settings of the account.' });
export type Settings = z.infer<typeof settingsSchema>;

/** Body of `PATCH /v1/settings`: omitted members stay as they are. */
export const settingsPatchSchema = z.strictObject({
  timezone: timezone.optional(),
  digest: z
    .strictObject({
      enabled: digest.enabled.optional(),
      hour: digest.hour.optional(),
      frequency: digest.frequency.optional(),
      icp_profile_ids: z
        .array(z.string().max(100))
        .max(100)
        .transform((ids) => [...new Set(ids)])
        .optional()
        .describe('Profiles whose signals it has; empty: all profiles.'),
      recipients: z
        .array(z.string().trim().max(320))
        .max(1_000)
        .optional()
        .describe('Email addresses of members: these get it by mail, the others do not.'),
    })
    .describe('The digest of new signals.')
    .optional(),
});
export type SettingsPatch = z.infer<typeof settingsPatchSchema>;

/** Settings as stored, with the progress of the digest. Times are Unix milliseconds. */
export interface TenantSettings extends Omit<Settings, 'digest'> {
  tenantId: string;
  digest: Omit<Settings['digest'], 'recipients'>;
  /** When the next digest is due; 0 if it is not scheduled yet. */
  digestDueAt: number;
  /** Time of the last search for signals; null: never. The first digest contains no older signals. */
  digestSince: number | null;
  /** Position in commit order up to which signals were counted: a late commit can have an earlier time. */
  digestPosition: number;
  digestMadeAt: number | null;
}

/**
 * Whether `name` is a zone of the IANA database. Offsets such as `+01:00` are not, and have no
 * daylight-saving time.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name) || !IANAZone.isValidZone(name)) return false;
  // Luxon keeps 75 KB for each name, and upper and lower case make millions of them.
  if (metZones.size >= MOST_ZONES && !metZones.has(name)) {
    LuxonSettings.resetCaches();
    metZones.clear();
  }
  metZones.add(name);
  return true;
}

/** Nearly as many as the database has names. */
const MOST_ZONES = 500;
const metZones = new Set<string>();
