import { z } from 'zod';
import { domainSchema } from './domain.ts';
import { customValueSchema, DEPARTMENTS, SENIORITIES } from './lead.ts';
import { linkedinProfile } from './person-keys.ts';
import { stageSchema } from './pipeline.ts';
import { observedPostSchema } from './signal.ts';
import { boundedRecord, emailInput, idInput, lineText, requiredLine } from './text.ts';

export const MAX_BATCH_LEADS = 100;
export const MAX_TAGS = 100;
export const MAX_CUSTOM_FIELDS = 50;
const MAX_NOTES_CHARS = 5_000;
const MAX_SIGNAL_IDS = 100;

/** Absent, null and empty all say "nothing": exports of other systems write any of them. */
const optional = <T extends z.ZodType>(id: string, schema: T) =>
  z
    .union([schema, z.literal(''), z.null()])
    .meta({ id })
    .optional();

const fact = lineText(300).nullable().meta({ id: 'OptionalText' }).optional();
const optionalEmail = optional('OptionalEmail', emailInput);
const linkedinUrl = z
  .string()
  .trim()
  .max(2_000)
  .refine(
    (text) => linkedinProfile(text) !== null,
    'must be the address of a LinkedIn member such as "https://www.linkedin.com/in/jane-doe"',
  )
  .transform((text) => (/^https?:\/\//i.test(text) ? text : `https://${text}`));

const tags = z.array(requiredLine(50)).max(MAX_TAGS).describe('Compared without regard to case');
const customName = requiredLine(64);
/** Of a change, which may take as many away as it brings. */
const MAX_CUSTOM_CHANGES = 2 * MAX_CUSTOM_FIELDS;
const customFields = boundedRecord(customName, customValueSchema.nullable(), MAX_CUSTOM_CHANGES);

/** What callers may say about a person; what is left out, null or empty is not known. */
const personFields = {
  name: fact,
  first_name: fact,
  last_name: fact,
  email: optionalEmail.describe('E-mail address'),
  linkedin_url: optional('OptionalProfileUrl', linkedinUrl).describe(
    'Address of the profile, such as linkedin.com/in/jane-doe',
  ),
  title: fact.describe('Job title'),
  seniority: z.enum([...SENIORITIES, '']).nullish(),
  department: z.enum([...DEPARTMENTS, '']).nullish(),
};
const companyFields = {
  name: fact,
  domain: optional('OptionalDomain', domainSchema).describe(
    'Such as acme.com; addresses of web sites are cut down to it',
  ),
  industry: fact,
  headcount: optional('OptionalHeadcount', z.union([lineText(300), z.int().min(0).max(10_000_000)])),
  location: fact,
};

/** Body of `POST /v1/leads`. Who it is must follow from it: see `leads/incoming.ts`. */
export const leadInputSchema = z
  .strictObject({
    ...personFields,
    company: z.strictObject(companyFields).nullish(),
    source: fact.describe('Where the lead came from; kept from the first request that says it'),
    stage: stageSchema
      .nullish()
      .describe('Initial stage, "new" where absent; a lead that is known stays where it is'),
    signal_ids: z
      .array(idInput)
      .max(MAX_SIGNAL_IDS)
      .default([])
      .describe('Signals to attach; their authors and companies fill what is not known'),
    signal: observedPostSchema.nullish().describe('An observed post as of createSignal, to score and attach'),
    tags: tags.default([]),
    custom_fields: customFields
      .default({})
      .describe(`At most ${MAX_CUSTOM_FIELDS} values under names of your own`),
    enrich: z
      .boolean()
      .default(true)
      .describe(
        'Whether to conclude what is missing from what is known: domain, names, seniority, company facts',
      ),
  })
  .meta({ id: 'NewLead' });
export type LeadInput = z.output<typeof leadInputSchema>;

/** Body of `PATCH /v1/leads/{id}` (RFC 7396): null or an empty string clears, what is absent stays. */
export const leadPatchSchema = z.strictObject({
  ...personFields,
  company: z.strictObject(companyFields).nullish().describe('null clears all of it'),
  source: fact,
  tags: z.union([tags, z.null()]).optional().describe('Replaces all tags'),
  custom_fields: customFields.nullish().describe('Merged by name; null removes one, or all of them'),
  owner: optionalEmail.describe('E-mail address of a member of your team'),
  notes: z.string().trim().max(MAX_NOTES_CHARS).nullish().describe('What your team has noted'),
  next_step: z
    .strictObject({ text: requiredLine(300), due_date: z.iso.date().nullable().default(null) })
    .nullish()
    .describe('What is to be done next, and the day on which you are reminded of it'),
});
export type LeadPatch = z.output<typeof leadPatchSchema>;
