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

/** One event of a campaign as a caller reports it; members that are null count as left out. */
export const campaignEventSchema = z
  .strictObject({
    event_id: z
      .string()
      .min(1)
      .max(200)
      .describe("The caller's own id: an event with one that the campaign has seen is a duplicate"),
    type: campaignEventTypeSchema,
    occurred_at: momentSchema,
    email: emailInput.nullish().describe('Whom it is about'),
    lead_id: idInput.nullish().describe('Whom it is about, as a lead of this tenant'),
    step: stepNumberSchema.nullish().describe("The step of the campaign's sequence that caused it"),
    reply_class: replyClassSchema.nullish().describe('What a reply says; on `replied` only'),
    auto: z
      .boolean()
      .nullish()
      .describe('The reply came from a machine; counted apart. `out_of_office` is one without being told'),
  })
  .superRefine((event, context) => {
    const refuse = (member: string, message: string) =>
      context.addIssue({ code: 'custom', path: [member], message });
    if (!event.email && !event.lead_id) refuse('email', 'or "lead_id" is required');
    if (event.type === 'replied') return;
    if (event.reply_class) refuse('reply_class', 'is for events of the type "replied" only');
    if (event.auto) refuse('auto', 'is for events of the type "replied" only');
  })
  .meta({ id: 'CampaignEvent' });
export type CampaignEventInput = z.output<typeof campaignEventSchema>;

/** Whether a reply is a machine's. */
export function isAutoReply(event: Pick<CampaignEventInput, 'auto' | 'reply_class'>): boolean {
  return event.auto === true || event.reply_class === 'out_of_office';
}
