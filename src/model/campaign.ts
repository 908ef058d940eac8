import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { listFilters, listOf } from './filters.ts';
import type { Place } from './page.ts';
import { requiredLine, timeInput } from './text.ts';

export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'active', 'paused', 'completed'] as const;
/** Where a campaign stands; which moves there are is in `campaigns/status.ts`. */
export const campaignStatusSchema = z.enum(CAMPAIGN_STATUSES);
export type CampaignStatus = z.infer<typeof campaignStatusSchema>;

const CAMPAIGN_CHANNELS = ['email', 'linkedin', 'phone', 'sms', 'multichannel'] as const;
const channelSchema = z.enum(CAMPAIGN_CHANNELS).describe('How the campaign reaches people');

/** The last moment that campaigns know: later ones are slips of the keyboard, and would not fit the time format. */
const MAX_TIME_MS = Date.UTC(2999, 11, 31, 23, 59, 59, 999);

/** Whether Unix milliseconds are a time that campaigns can hold. */
export function isCampaignTime(ms: number): boolean {
  return ms >= 0 && ms <= MAX_TIME_MS;
}

/** A time as callers write it, in Unix milliseconds. */
export const momentSchema = timeInput.refine(isCampaignTime, 'must be a time of the years 1970 to 2999');

/** The same, in the one form that answers show. */
const plannedSchema = momentSchema.transform(toIso);

/** The number of a step within its campaign's sequence. */
export const stepNumberSchema = z.int().min(0).max(100);

const stepSchema = z.strictObject({
  step: stepNumberSchema.describe('The number that events carry'),
  name: requiredLine(200).describe('What statistics call the step'),
});

const stepsSchema = z
  .array(stepSchema)
  .max(50)
  .refine(
    (steps) => new Set(steps.map(({ step }) => step)).size === steps.length,
    'must number each step once',
  )
  .transform((steps) => [...steps].sort((a, b) => a.step - b.step))
  .describe('Names of the steps, so that statistics can show them; events may carry other step numbers too');

const nameSchema = requiredLine(200);
const descriptionSchema = z.string().trim().max(2_000);
const planNote = 'A note of the plan: a campaign changes its status when it is told to, not by itself';

/** Body of `POST /v1/campaigns`. */
export const campaignInputSchema = z.strictObject({
  name: nameSchema,
  description: descriptionSchema.default(''),
  channel: channelSchema.default('email'),
  steps: stepsSchema.default([]),
  starts_at: plannedSchema.nullable().default(null).describe(planNote),
  ends_at: plannedSchema.nullable().default(null).describe(planNote),
  status: campaignStatusSchema
    .default('draft')
    .describe('What it is to be from the start: one that a draft can become'),
});
export type CampaignInput = z.output<typeof campaignInputSchema>;

/** Body of `PATCH /v1/campaigns/{id}`: what is left out stays as it is. */
export const campaignPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  description: descriptionSchema.optional(),
  channel: channelSchema.optional(),
  steps: stepsSchema.optional(),
  starts_at: plannedSchema.nullable().optional().describe(planNote),
  ends_at: plannedSchema.nullable().optional().describe(planNote),
  status: campaignStatusSchema.optional(),
});
export type CampaignPatch = z.output<typeof campaignPatchSchema>;

const time = z.iso.datetime();

/** A campaign on the wire. */
export const campaignSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    channel: channelSchema,
    status: campaignStatusSchema,
    steps: z.array(stepSchema),
    starts_at: time.nullable().describe('When it is planned to start'),
    ends_at: time.nullable().describe('When it is planned to end'),
    started_at: time.nullable().describe('When it first became active'),
    completed_at: time.nullable(),
    status_changed_at: time,
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Campaign' });
export type CampaignResource = z.infer<typeof campaignSchema>;

/** What a caller can set beside name and status. */
export type CampaignSettings = Omit<CampaignInput, 'name' | 'status'>;

/** A campaign as stored. Times are Unix milliseconds; `version` grows with every change. */
export interface Campaign {
  id: string;
  tenantId: string;
  name: string;
  status: CampaignStatus;
  settings: CampaignSettings;
  startedAt: number | null;
  completedAt: number | null;
  statusChangedAt: number;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** Filters and position of a page of campaigns, newest first. */
export interface CampaignQuery extends Place {
  statuses: CampaignStatus[];
}

/** The filters of lists of campaigns. */
export const campaignFilters = listFilters(
  { status: listOf(campaignStatusSchema).describe('Only campaigns with these statuses.') },
  ({ status: statuses }) => ({ statuses }),
);
