import { z } from 'zod';
import { STAGES } from './constants.ts';

export const stageSchema = z.enum(STAGES);
export type Stage = z.infer<typeof stageSchema>;

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** The deal of a lead. `amount_minor` is in the smallest unit of the currency, such as cents. */
export const dealSchema = z
  .strictObject({
    amount_minor: z.int().min(0).describe("Amount in the currency's smallest unit, such as cents."),
    currency: z.string().describe('Three-letter ISO 4217 currency code, such as `USD`.'),
    status: z.enum(['open', 'won', 'lost']).describe('Status of the deal.'),
    close_date: z.iso
      .date()
      .nullable()
      .describe('Date the deal closed or is expected to close; `null` if unknown.'),
  })
  .meta({ id: 'Deal', description: 'The deal of a lead.' });
export type Deal = z.infer<typeof dealSchema>;

const moveReason = z
  .string()
  .trim()
  .max(1_000)
  .nullish()
  .transform((reason) => reason ?? '');

/** Body of `PUT /v1/pipeline/{id}/deal`, which replaces the whole deal. */
export const dealInputSchema = z.strictObject({
  amount_minor: dealSchema.shape.amount_minor,
  currency: z
    .string()
    .trim()
    .toUpperCase()
    .refine((code) => CURRENCIES.has(code), 'must be an ISO 4217 currency code such as "USD"')
    .meta({ minLength: 3, maxLength: 3 })
    .describe('Three-letter ISO 4217 currency code, such as `USD`. Case-insensitive.'),
  status: dealSchema.shape.status
    .nullish()
    .describe(
      'Status of the deal. `won` and `lost` move the lead to that stage. Defaults to the status of its stage.',
    ),
  close_date: dealSchema.shape.close_date.default(null),
  reason: moveReason.describe('Reason for the move, kept in the history. Required if `lost` moves the lead.'),
  reopen: z.boolean().default(false).describe('Must be `true` if the lead leaves `won` or `lost`.'),
});
export type DealInput = z.output<typeof dealInputSchema>;

/** Body of `PUT /v1/pipeline/{id}/stage`. */
export const moveInputSchema = z.strictObject({
  stage: stageSchema.describe('Stage to move the lead to.'),
  reason: moveReason.describe('Reason for the move, kept in the history. Required when moving to `lost`.'),
  expected_stage: stageSchema
    .nullish()
    .transform((stage) => stage ?? null)
    .describe('If set, the move fails with `STAGE_CONFLICT` unless the lead is in this stage.'),
  reopen: z.boolean().default(false).describe('Must be `true` to leave `won` or `lost`.'),
});
export type MoveInput = z.output<typeof moveInputSchema>;

/** The author of a change: an API key or a user. */
export const actorSchema = z
  .strictObject({
    id: z.string().describe('ID of the API key or user.'),
    name: z.string().describe('Name of the API key, or email address of the user.'),
  })
  .describe('Who made the change: an API key or a user.');
export type Actor = z.infer<typeof actorSchema>;

/** A move through the pipeline; the first one, into the pipeline, has no previous stage. */
export const stageMoveSchema = z
  .strictObject({
    lead_id: z.string().describe('ID of the lead.'),
    previous: stageSchema.nullable().describe('Previous stage; `null` for the first move into the pipeline.'),
    current: stageSchema.describe('Stage the lead was moved to.'),
    reason: z.string().describe('Reason given for the move; an empty string if none.'),
    actor: actorSchema,
    moved_at: z.iso.datetime().describe('When the lead was moved.'),
    seconds_in_previous: z
      .number()
      .nullable()
      .describe('Time the lead spent in the previous stage, in seconds; `null` for the first move.'),
  })
  .meta({ id: 'StageMove', description: "A lead's move from one pipeline stage to another." });
export type StageMove = z.infer<typeof stageMoveSchema>;

/** Total value of the deals of a stage in one currency. */
const valueSchema = z.strictObject({
  currency: z.string().describe('Three-letter ISO 4217 currency code.'),
  amount_minor: z.number().describe("Sum of the deals, in the currency's smallest unit."),
  deals: z.int().describe('Number of deals.'),
});

/** A column of the board, without its `leads`, which the store returns as JSON text. */
export const boardStageSchema = z.strictObject({
  stage: stageSchema.describe('The stage.'),
  count: z.int().describe('Number of leads in this stage.'),
  value: z.array(valueSchema).describe('Total value of their deals, one entry per currency.'),
});
export type BoardStage = z.infer<typeof boardStageSchema>;
