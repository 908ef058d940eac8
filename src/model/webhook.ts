import { z } from 'zod';
import { eventTypeSchema } from './event.ts';
import { classificationSchema, signalTypeSchema } from './signal.ts';

export const ENDPOINT_STATUSES = ['active', 'paused'] as const;
export const PAUSED_REASONS = ['failures', 'gone', 'manual', 'plan'] as const;
export type PausedReason = (typeof PAUSED_REASONS)[number];

/** Requests in any 60 s that an endpoint gets unless its plan allows more. */
export const DEFAULT_RATE_LIMIT_PER_MINUTE = 60;

const uniqueList = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .max(50)
    .transform((list) => [...new Set(list)] as z.output<T>[]);

/** Settings of an endpoint as a caller writes them (specification, section 2; empty filter lists let everything through). */
export const webhookInputSchema = z.strictObject({
  url: z.string().trim().min(1).max(2_048),
  label: z.string().trim().max(200).default(''),
  event_types: uniqueList(eventTypeSchema)
    .refine((l) => l.length > 0, 'must name at least one event')
    .default(['signal.detected']),
  signal_types: uniqueList(signalTypeSchema).default([]),
  classifications: uniqueList(classificationSchema).default([]),
  icp_profile_ids: uniqueList(z.string().min(1).max(64)).default([]),
  min_score: z.int().min(0).max(100).default(0),
  max_retries: z.int().min(1).max(10).default(3),
  retry_interval_seconds: z.int().min(30).max(600).nullable().default(null),
  backoff: z.enum(['exponential', 'fixed']).default('exponential'),
  timeout_seconds: z.int().min(1).max(30).default(30),
  dead_letter: z.boolean().default(true),
  rate_limit_per_minute: z.int().min(1).max(1_000_000).default(DEFAULT_RATE_LIMIT_PER_MINUTE),
});
export type WebhookInput = z.infer<typeof webhookInputSchema>;

/** An endpoint on the wire. `secret` is whole in the answer of its creation only; later `secret_last4` tells which it is. */
export const webhookResourceSchema = z.strictObject({
  id: z.string(),
  url: z.string(),
  label: z.string(),
  event_types: z.array(eventTypeSchema),
  signal_types: z.array(signalTypeSchema),
  classifications: z.array(classificationSchema),
  icp_profile_ids: z.array(z.string()),
  min_score: z.int(),
  max_retries: z.int(),
  retry_interval_seconds: z.int().nullable(),
  backoff: z.enum(['exponential', 'fixed']),
  timeout_seconds: z.int(),
  dead_letter: z.boolean(),
  rate_limit_per_minute: z.int(),
  status: z.enum(ENDPOINT_STATUSES),
  paused_reason: z.enum(PAUSED_REASONS).nullable(),
  consecutive_failures: z.int(),
  secret_last4: z.string(),
  created_at: z.iso.datetime(),
});
export type WebhookResource = z.infer<typeof webhookResourceSchema>;

/** An endpoint as stored. `version` grows with every change, so that the dispatcher knows when its copy is old. */
export interface Endpoint {
  id: string;
  tenantId: string;
  settings: WebhookInput;
  /** AES-256-GCM box of the secret, bound to the endpoint's id. */
  secretBox: Uint8Array;
  secretLast4: string;
  status: (typeof ENDPOINT_STATUSES)[number];
  pausedReason: PausedReason | null;
  consecutiveFailures: number;
  version: number;
  createdAt: number;
}
