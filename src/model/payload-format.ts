import { z } from 'zod';
import { codePointLength } from '../lib/text.ts';
import { keptFields, PAYLOAD_FIELDS, type PayloadFormat, PRESETS } from './payload-shape.ts';
import { signalSchema } from './signal.ts';
import { boundedRecord, lineText } from './text.ts';

const MAX_CUSTOM_KEYS = 50;
const MAX_CUSTOM_VALUE_CHARACTERS = 8_192;
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

/** ntfy responds to any other topic with 404. */
const NTFY_TOPIC = /^[-_A-Za-z0-9]{1,64}$/;

const formatShape = z.strictObject({
  preset: z
    .enum(PRESETS)
    .optional()
    .describe('Format every event as a message for this service. Cannot be combined with the other members.'),
  topic: z
    .string()
    .trim()
    .max(64)
    .regex(NTFY_TOPIC, 'must be 1 to 64 letters, digits, "-" or "_"')
    .optional()
    .describe(
      '`ntfy` only: the topic to publish to. The `url` of the endpoint is that of the server, such as `https://ntfy.sh`.',
    ),
  include: fieldList.optional().describe('Send only these fields. Cannot be combined with `exclude`.'),
  exclude: fieldList.optional().describe('Send all fields except these.'),
  flatten: z
    .boolean()
    .default(false)
    .describe('Whether members of nested objects become members of the payload, such as `prospect_name`.'),
  custom: boundedRecord(lineText(MAX_CUSTOM_KEY_CHARACTERS).min(1), customValue, MAX_CUSTOM_KEYS)
    .default({})
    .describe(`Up to ${MAX_CUSTOM_KEYS} members of your own, added at the end of the payload.`),
});

type FormatShape = z.infer<typeof formatShape>;

/** The format of an endpoint's payloads; contradictory formats are rejected. */
export const payloadFormatSchema = formatShape.superRefine(refuseFormatFaults).transform(meantFormat);

function refuseFormatFaults(format: FormatShape, context: z.RefinementCtx): void {
  const fault = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (format.preset !== undefined) {
    refusePresetFaults(format, fault);
    return;
  }
  if (format.topic !== undefined) fault(['topic'], 'is for the preset "ntfy" only');
  if (format.include !== undefined && format.exclude !== undefined) {
    fault(['exclude'], 'must not be combined with "include"');
    return;
  }
  const customKeys = Object.keys(format.custom);
  const taken = namesOfFields(format.flatten);
  for (const key of customKeys) {
    if (key === 'signature') fault(['custom', key], 'is reserved for the signature; choose another name');
    else if (taken.has(key)) fault(['custom', key], 'is a field of the payload; choose another name');
  }
  if (keptFields(format).length === 0 && customKeys.length === 0) fault([], 'leaves the payload empty');
}

/** A preset cannot be combined with fields. */
function refusePresetFaults(format: FormatShape, fault: (path: string[], message: string) => void): void {
  for (const member of ['include', 'exclude'] as const) {
    if (format[member] !== undefined) fault([member], 'must not be combined with "preset"');
  }
  if (format.flatten) fault(['flatten'], 'must not be combined with "preset"');
  if (Object.keys(format.custom).length > 0) fault(['custom'], 'must not be combined with "preset"');
  if (format.preset === 'ntfy' && format.topic === undefined)
    fault(['topic'], 'is required for the preset "ntfy"');
  if (format.preset !== 'ntfy' && format.topic !== undefined)
    fault(['topic'], 'is for the preset "ntfy" only');
}

function meantFormat({ preset, topic, ...custom }: FormatShape): PayloadFormat {
  if (preset === undefined) return custom;
  return topic === undefined ? { preset } : { preset, topic };
}

const savedPresetSchema = z.strictObject({
  preset: z.enum(PRESETS).describe('Service that every event is formatted for.'),
  topic: z.string().optional().describe('`ntfy` only: the topic to publish to.'),
});

const savedCustomSchema = z.strictObject({
  include: z.array(z.enum(PAYLOAD_FIELDS)).optional().describe('Only these fields are sent.'),
  exclude: z.array(z.enum(PAYLOAD_FIELDS)).optional().describe('All fields except these are sent.'),
  flatten: z.boolean().describe('Whether members of nested objects become members of the payload.'),
  custom: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('Your own members, added at the end of the payload.'),
});

/** A format as saved, as returned by every API. */
export const savedFormatSchema = z.union([savedPresetSchema, savedCustomSchema]);

/**
 * All possible names of payload members, including excluded ones, so that a custom member never looks like a
 * field.
 */
function namesOfFields(flatten: boolean): Set<string> {
  const names = PAYLOAD_FIELDS.flatMap((field) => {
    const schema = signalSchema.shape[field];
    const isNested = flatten && schema instanceof z.ZodObject;
    return isNested ? [field, ...Object.keys(schema.shape).map((member) => flatKey(field, member))] : [field];
  });
  return new Set(names);
}

/** The name of a nested member after flattening. */
export function flatKey(field: string, member: string): string {
  return `${field}_${member}`;
}
