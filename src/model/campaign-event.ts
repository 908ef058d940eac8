import { z } from 'zod';
import { momentSchema, stepNumberSchema } from './campaign.ts';
import { emailInput, idInput } from './text.ts';

export const CAMPAIGN_EVENT_TYPES = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'replied',
  'bounced',
  'unsubscribed',
  'meeting',
] as const;
const campaignEventTypeSchema = z.enum(CAMPAIGN_EVENT_TYPES);
export type CampaignEventType = z.infer<typeof campaignEventTypeSchema>;

export const REPLY_CLASSES = [
  'interested',
  'not_now',
  'not_interested',
  'referral',
  'objection',
  'out_of_office',
  'unsubscribe',
  'other',
] as const;
export const replyClassSchema = z.enum(REPLY_CLASSES);
export type ReplyClass = z.infer<typeof replyClassSchema>;

export const MAX_BATCH_EVENTS = 1_000;

/** One event of a campaign as a caller reports it; null members count as omitted. */
export const campaignEventSchema = z
  .strictObject({
    event_id: z
      .string()
      .min(1)
      .max(200)
      .describe(
        'Your ID of the event. An event whose ID was already recorded in the campaign is a duplicate.',
      ),
    type: campaignEventTypeSchema.describe('Type of the event.'),
    occurred_at: momentSchema.describe('When the event happened.'),
    email: emailInput.nullish().describe('Email address of the recipient. Required without `lead_id`.'),
    lead_id: idInput.nullish().describe('ID of the lead that is the recipient. Required without `email`.'),
    step: stepNumberSchema.nullish().describe('Number of the step that caused the event.'),
    reply_class: replyClassSchema.nullish().describe('Classification of the reply; for `replied` only.'),
    auto: z
      .boolean()
      .nullish()
      .describe(
        'Whether the reply is automatic; for `replied` only. Automatic replies are counted separately. `out_of_office` always is.',
      ),
  })
  .superRefine((event, context) => {
    const refuse = (member: string, message: string) =>
      context.addIssue({ code: 'custom', path: [member], message });
    if (!event.email && !event.lead_id) refuse('email', 'or "lead_id" is required');
    if (event.type === 'replied') return;
    if (event.reply_class) refuse('reply_class', 'is for events of type "replied" only');
    if (event.auto) refuse('auto', 'is for events of type "replied" only');
  })
  .meta({ id: 'CampaignEvent', description: 'An event of a campaign.' });
export type CampaignEventInput = z.output<typeof campaignEventSchema>;

/** Whether a reply is automatic. */
export function isAutoReply(event: Pick<CampaignEventInput, 'auto' | 'reply_class'>): boolean {
  return event.auto === true || event.reply_class === 'out_of_office';
}
