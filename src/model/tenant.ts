import { z } from 'zod';

export const PLANS = ['trial', 'starter', 'pro', 'enterprise'] as const;
export const planSchema = z.enum(PLANS);
/** What a tenant pays for. `trial` is Pro for 14 days, then `starter`. */
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
