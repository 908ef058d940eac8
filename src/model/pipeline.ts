import { z } from 'zod';

/** In the order of the board. `won` and `lost` are closed; which move is allowed is decided in `leads/stages.ts`. */
export const STAGES = ['new', 'contacted', 'engaged', 'qualified', 'proposal', 'won', 'lost'] as const;
export const stageSchema = z.enum(STAGES);
export type Stage = z.infer<typeof stageSchema>;

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** What a lead may be worth. `amount_minor` is in the currency's smallest unit, e.g. cents. */
export const dealSchema = z
  .strictObject({
    amount_minor: z.int().min(0).describe("In the currency's smallest unit, such as cents"),
    currency: z.string().describe('ISO 4217 code, such as "USD"'),
    status: z.enum(['open', 'won', 'lost']),
    close_date: z.iso.date().nullable().describe('When it closed, or is expected to'),
  })
  .meta({ id: 'Deal' });
export type Deal = z.infer<typeof dealSchema>;

const moveReason = z
  .string()
  .trim()
  .max(1_000)
  .nullish()
  .transform((reason) => reason ?? '');

/** Body of `PUT /v1/pipeline/{id}/deal`: the whole deal, as PUT says. */
export const dealInputSchema = z.strictObject({
  amount_minor: dealSchema.shape.amount_minor,
  currency: z
    .string()
    .trim()
    .toUpperCase()
    .refine((code) => CURRENCIES.has(code), 'must be an ISO 4217 currency code such as "USD"')
    .meta({ minLength: 3, maxLength: 3 })
    .describe('ISO 4217 code, such as "USD"'),
  status: dealSchema.shape.status
    .nullish()
    .describe('`won` and `lost` move the lead there; where absent, the deal is as its stage says'),
  close_date: dealSchema.shape.close_date.default(null),
  reason: moveReason.describe('Required where `lost` moves the lead; kept in the history'),
  reopen: z.boolean().default(false).describe('Must be true where the lead leaves "won" or "lost"'),
});
export type DealInput = z.output<typeof dealInputSchema>;

/** A deal is won or lost exactly where its lead is, and open in every other stage. */
export function dealStatusIn(stage: Stage): Deal['status'] {
  return stage === 'won' || stage === 'lost' ? stage : 'open';
}

/** Body of `PUT /v1/pipeline/{id}/stage`. */
export const moveInputSchema = z.strictObject({
  stage: stageSchema,
  reason: moveReason.describe('Required for "lost"; kept in the history'),
  expected_stage: stageSchema
    .nullish()
    .transform((stage) => stage ?? null)
    .describe('Refuses the move with STAGE_CONFLICT unless the lead is in this stage'),
  reopen: z.boolean().default(false).describe('Must be true to leave "won" or "lost"'),
});
export type MoveInput = z.output<typeof moveInputSchema>;

/** Who changed something: the API key that was used. */
export const actorSchema = z.strictObject({ id: z.string(), name: z.string() });
export type Actor = z.infer<typeof actorSchema>;

/** A move through the pipeline; the first, into it, has no previous stage. */
export const stageMoveSchema = z
  .strictObject({
    lead_id: z.string(),
    previous: stageSchema.nullable(),
    current: stageSchema,
    reason: z.string(),
    actor: actorSchema.describe('Who moved the lead: an API key or a person'),
    moved_at: z.iso.datetime(),
    seconds_in_previous: z
      .number()
      .nullable()
      .describe('How long the lead was in the previous stage, to the millisecond; null for its first'),
  })
  .meta({ id: 'StageMove' });
export type StageMove = z.infer<typeof stageMoveSchema>;

/** Currency by currency, what the deals of a stage come to. */
const valueSchema = z.strictObject({
  currency: z.string(),
  amount_minor: z.number().describe('Sum over the deals, in the smallest unit of the currency'),
  deals: z.int(),
});

/** A column of the board; `leads` are texts of the store, so that they are not part of it here. */
export const boardStageSchema = z.strictObject({
  stage: stageSchema,
  count: z.int().describe('Leads in this stage'),
  value: z.array(valueSchema).describe('What their deals come to, one entry a currency'),
});
export type BoardStage = z.infer<typeof boardStageSchema>;
