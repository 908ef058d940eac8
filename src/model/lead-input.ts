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

/** Absent, null and empty all mean "unknown", as exports of other systems write any of them. */
const optional = <T extends z.ZodType>(id: string, description: string, schema: T) =>
  z
    .union([schema, z.literal(''), z.null()])
    .meta({ id, description: `${description} Unknown if omitted, null or empty.` })
    .optional();

const fact = lineText(300)
  .nullable()
  .meta({ id: 'OptionalText', description: 'A line of text. Unknown if omitted, null or empty.' })
  .optional();
const optionalEmail = optional('OptionalEmail', 'Email address.', emailInput);
const linkedinUrl = z
  .string()
  .trim()
  .max(2_000)
  .refine(
    (text) => linkedinProfile(text) !== null,
    'must be the URL of a LinkedIn profile such as "https://www.linkedin.com/in/jane-doe"',
  )
  .transform((text) => (/^https?:\/\//i.test(text) ? text : `https://${text}`));

const tags = z.array(requiredLine(50)).max(MAX_TAGS);
const customName = requiredLine(64);
/** Of a patch, which may remove as many fields as it adds. */
const MAX_CUSTOM_CHANGES = 2 * MAX_CUSTOM_FIELDS;
const customFields = boundedRecord(customName, customValueSchema.nullable(), MAX_CUSTOM_CHANGES);

/** What callers may say about a person. */
const personFields = {
  name: fact.describe('Full name.'),
  first_name: fact.describe('Given name.'),
  last_name: fact.describe('Family name.'),
  email: optionalEmail.describe('Email address.'),
  linkedin_url: optional('OptionalProfileUrl', 'URL of a LinkedIn profile.', linkedinUrl).describe(
    'URL of the LinkedIn profile, such as `https://www.linkedin.com/in/jane-doe`.',
  ),
  title: fact.describe('Job title.'),
  seniority: z
    .enum([...SENIORITIES, ''])
    .nullish()
    .describe('Seniority. Derived from the job title if omitted, null or empty.'),
  department: z
    .enum([...DEPARTMENTS, ''])
    .nullish()
    .describe('Department. Derived from the job title if omitted, null or empty.'),
};
const companyFields = {
  name: fact.describe('Name of the company.'),
  domain: optional(
    'OptionalDomain',
    'Domain, or website address, which is reduced to it.',
    domainSchema,
  ).describe('Domain of the company, such as `acme.com`. A website address is reduced to its domain.'),
  industry: fact.describe('Industry of the company.'),
  headcount: optional(
    'OptionalHeadcount',
    'A number or a range such as `11-50`.',
    z.union([lineText(300), z.int().min(0).max(10_000_000)]),
  ).describe('Number of employees: a number or a range such as `11-50`.'),
  location: fact.describe('Location of the company.'),
};

/** Body of `POST /v1/leads`. It must identify a person: see `leads/incoming.ts`. */
export const leadInputSchema = z
  .strictObject({
    ...personFields,
    company: z.strictObject(companyFields).nullish().describe("The person's company."),
    source: fact.describe('Where the lead came from. The first value given is kept.'),
    stage: stageSchema
      .nullish()
      .describe('Initial pipeline stage, `new` by default. An existing lead keeps its stage.'),
    signal_ids: z
      .array(idInput)
      .max(MAX_SIGNAL_IDS)
      .default([])
      .describe('IDs of signals to attach. Their authors and companies fill in unknown facts.'),
    signal: observedPostSchema
      .nullish()
      .describe('An observed post, as in `createSignal`, to score and attach.'),
    tags: tags.default([]).describe('Tags of the lead, compared case-insensitively.'),
    custom_fields: customFields
      .default({})
      .describe(`Up to ${MAX_CUSTOM_FIELDS} custom fields, by names you choose.`),
    enrich: z
      .boolean()
      .default(true)
      .describe('Whether to derive missing facts, such as domain, names, seniority and company facts.'),
  })
  .meta({ id: 'NewLead', description: 'A person to create as a lead, or to merge into an existing one.' });
export type LeadInput = z.output<typeof leadInputSchema>;

/** Body of `PATCH /v1/leads/{id}` (RFC 7396): null or an empty string clears, omitted members stay. */
export const leadPatchSchema = z.strictObject({
  ...personFields,
  company: z.strictObject(companyFields).nullish().describe("The person's company; `null` clears all of it."),
  source: fact.describe('Where the lead came from.'),
  tags: z
    .union([tags, z.null()])
    .optional()
    .describe('Replaces all tags; `null` removes them. Compared case-insensitively.'),
  custom_fields: customFields
    .nullish()
    .describe('Merged by name; a `null` value removes that field, `null` as a whole removes all.'),
  owner: optionalEmail.describe(
    'Email address of the team member who owns the lead; `null` removes the owner.',
  ),
  notes: z
    .string()
    .trim()
    .max(MAX_NOTES_CHARS)
    .nullish()
    .describe('Notes of your team; `null` removes them.'),
  next_step: z
    .strictObject({
      text: requiredLine(300).describe('What to do.'),
      due_date: z.iso
        .date()
        .nullable()
        .default(null)
        .describe('Date from which you are reminded; `null` for no reminder.'),
    })
    .nullish()
    .describe('Next step for the lead; `null` removes it.'),
});
export type LeadPatch = z.output<typeof leadPatchSchema>;
