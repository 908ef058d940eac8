import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { listFilters, listOf } from './filters.ts';
import type { Place } from './page.ts';
import { requiredLine, timeInput } from './text.ts';

export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'active', 'paused', 'completed'] as const;
/** Status of a campaign; `campaigns/status.ts` has the transitions. */
export const campaignStatusSchema = z.enum(CAMPAIGN_STATUSES);
export type CampaignStatus = z.infer<typeof campaignStatusSchema>;

const CAMPAIGN_CHANNELS = ['email', 'linkedin', 'phone', 'sms', 'multichannel'] as const;
const channelSchema = z.enum(CAMPAIGN_CHANNELS).describe('Channel of the campaign.');

/** Later times are typing errors, and would not fit the time format. */
const MAX_TIME_MS = Date.UTC(2999, 11, 31, 23, 59, 59, 999);

/** Whether Unix milliseconds are a valid time of a campaign. */
export function isCampaignTime(ms: number): boolean {
  return ms >= 0 && ms <= MAX_TIME_MS;
}

/** A time as callers send it, in Unix milliseconds. */
export const momentSchema = timeInput.refine(isCampaignTime, 'must be between the years 1970 and 2999');

/** The same, in the format of responses. */
const plannedSchema = momentSchema.transform(toIso);

/** The number of a step within its campaign's sequence. */
export const stepNumberSchema = z.int().min(0).max(100);

const stepSchema = z.strictObject({
  step: stepNumberSchema.describe('Number of the step, as in its events.'),
  name: requiredLine(200).describe('Name of the step in statistics.'),
});

const stepsSchema = z
  .array(stepSchema)
  .max(50)
  .refine(
    (steps) => new Set(steps.map(({ step }) => step)).size === steps.length,
    'must not have two steps with the same number',
  )
  .transform((steps) => [...steps].sort((a, b) => a.step - b.step))
  .describe('Names of the steps, for statistics. Events may have other step numbers too.');

const nameSchema = requiredLine(200).describe('Name of the campaign.');
const descriptionSchema = z
  .string()
  .trim()
  .max(2_000)
  .describe('Description of the campaign, for your own use.');
const STARTS_AT = 'Planned start, for your own use: the status does not change by itself.';
const ENDS_AT = 'Planned end, for your own use: the status does not change by itself.';

/** Body of `POST /v1/campaigns`. */
export const campaignInputSchema = z.strictObject({
  name: nameSchema,
  description: descriptionSchema.default(''),
  channel: channelSchema.default('email'),
  steps: stepsSchema.default([]),
  starts_at: plannedSchema.nullable().default(null).describe(STARTS_AT),
  ends_at: plannedSchema.nullable().default(null).describe(ENDS_AT),
  status: campaignStatusSchema
    .default('draft')
    .describe('Initial status: `draft`, or a status that a draft can change to.'),
});
export type CampaignInput = z.output<typeof campaignInputSchema>;

/** Body of `PATCH /v1/campaigns/{id}`: omitted members stay as they are. */
export const campaignPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  description: descriptionSchema.optional(),
  channel: channelSchema.optional(),
  steps: stepsSchema.optional(),
  starts_at: plannedSchema.nullable().optional().describe(STARTS_AT),
  ends_at: plannedSchema.nullable().optional().describe(ENDS_AT),
  status: campaignStatusSchema.optional().describe('Status to change the campaign to.'),
});
export type CampaignPatch = z.output<typeof campaignPatchSchema>;

const time = z.iso.datetime();

/** A campaign as every API shows it. */
export const campaignSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the campaign.'),
    name: z.string().describe('Name of the campaign.'),
    description: z.string().describe('Description of the campaign; an empty string if none is set.'),
    channel: channelSchema,
    status: campaignStatusSchema.describe('Status of the campaign.'),
    steps: z.array(stepSchema).describe('Names of the steps, in the order of their numbers.'),
    starts_at: time.nullable().describe('Planned start; `null` if not set.'),
    ends_at: time.nullable().describe('Planned end; `null` if not set.'),
    started_at: time.nullable().describe('When the campaign first became active; `null` if it never was.'),
    completed_at: time.nullable().describe('When the campaign was completed; `null` if it is not.'),
    status_changed_at: time.describe('When the status last changed.'),
    created_at: time.describe('When the campaign was created.'),
    updated_at: time.describe('When the campaign was last changed.'),
  })
  .meta({ id: 'Campaign', description: 'An outreach campaign, whose events are recorded and counted.' });
export type CampaignResource = z.infer<typeof campaignSchema>;

/** The settings besides name and status. */
export type CampaignSettings = Omit<CampaignInput, 'name' | 'status'>;

/** A campaign as stored. Times are Unix milliseconds; `version` is incremented by each change. */
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
