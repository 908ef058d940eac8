import { z } from 'zod';
import { codePointLength } from '../lib/text.ts';
import { signalSchema } from './signal.ts';
import { boundedRecord, lineText } from './text.ts';

/** Fields of the signal payload that a format can name, in the payload's order (specification, section 2). */
export const PAYLOAD_FIELDS = [
  'signal_id',
  'signal_type',
  'classification',
  'icp_score',
  'timestamp',
  'prospect',
  'company',
  'platform',
  'excerpt',
  'icp_profile_name',
  'profile_url',
] as const;
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];

export const MAX_CUSTOM_KEYS = 50;
export const MAX_CUSTOM_VALUE_CHARACTERS = 8_192;
const MAX_CUSTOM_KEY_CHARACTERS = 200;

const fieldList = z
  .array(z.enum(PAYLOAD_FIELDS))
  .max(100)
  .transform((fields) => [...new Set(fields)]);

const customValue = z.union([
  z
    .string('must be a string, a number, or true or false')
    .refine(
      (text) => codePointLength(text) <= MAX_CUSTOM_VALUE_CHARACTERS,
      `must have at most ${MAX_CUSTOM_VALUE_CHARACTERS} characters`,
    )
    .meta({ maxLength: MAX_CUSTOM_VALUE_CHARACTERS }),
  z.number(),
  z.boolean(),
]);

const formatShape = z.strictObject({
  include: fieldList.optional().describe('Only these fields; not together with `exclude`'),
  exclude: fieldList.optional().describe('All fields but these'),
  flatten: z
    .boolean()
    .default(false)
    .describe('Members of nested objects become members of the payload: `prospect_name`'),
  custom: boundedRecord(lineText(MAX_CUSTOM_KEY_CHARACTERS).min(1), customValue, MAX_CUSTOM_KEYS)
    .default({})
    .describe(`Up to ${MAX_CUSTOM_KEYS} members of your own, added at the end`),
});

type FormatShape = z.infer<typeof formatShape>;

/** How an endpoint shapes `signal.detected`; refused where it could not be what was meant. */
export const payloadFormatSchema = formatShape.superRefine((format, context) => {
  const fault = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (format.include !== undefined && format.exclude !== undefined) {
    fault(['exclude'], 'must not be given together with "include"');
    return;
  }
  const customKeys = Object.keys(format.custom);
  const taken = namesOfFields(format.flatten);
  for (const key of customKeys) {
    if (key === 'signature') fault(['custom', key], 'is the name of the signature; choose another');
    else if (taken.has(key)) fault(['custom', key], 'is a field of the payload; choose another name');
  }
  if (keptFields(format).length === 0 && customKeys.length === 0) fault([], 'leaves nothing to send');
});
export type PayloadFormat = z.infer<typeof payloadFormatSchema>;

/** A format on the wire, as it was saved. */
export const savedFormatSchema = z.strictObject({
  include: z.array(z.enum(PAYLOAD_FIELDS)).optional(),
  exclude: z.array(z.enum(PAYLOAD_FIELDS)).optional(),
  flatten: z.boolean(),
  custom: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

/** The fields that a format keeps, in the payload's order. */
export function keptFields({ include, exclude }: Pick<FormatShape, 'include' | 'exclude'>): PayloadField[] {
  if (include !== undefined) return PAYLOAD_FIELDS.filter((field) => include.includes(field));
  return PAYLOAD_FIELDS.filter((field) => !exclude?.includes(field));
}

/**
 * Every name that a payload can hold, of fields that a format leaves out too: a receiver that reads `company` must never
 * find there what somebody else wrote.
 */
function namesOfFields(flatten: boolean): Set<string> {
  const names = PAYLOAD_FIELDS.flatMap((field) => {
    const schema = signalSchema.shape[field];
    const isNested = flatten && schema instanceof z.ZodObject;
    return isNested ? [field, ...Object.keys(schema.shape).map((member) => flatKey(field, member))] : [field];
  });
  return new Set(names);
}

/** The name of a nested member once it is flattened. */
export function flatKey(field: string, member: string): string {
  return `${field}_${member}`;
}
