import { z } from 'zod';
import { listFilters, listOf, type PageRequest, searchText, wholeNumber } from './filters.ts';
import { linkedinProfile, normaliseEmail } from './person-keys.ts';
import { dealSchema, stageSchema } from './pipeline.ts';
import { classificationSchema, explanationSchema, observedPostSchema, signalSchema } from './signal.ts';
import {
  boundedRecord,
  domainFilter,
  domainSchema,
  emailInput,
  idInput,
  lineText,
  requiredLine,
} from './text.ts';

export const SENIORITIES = [
  'founder',
  'owner',
  'c_suite',
  'partner',
  'vp',
  'head',
  'director',
  'manager',
  'senior',
  'entry',
  'intern',
] as const;
export type Seniority = (typeof SENIORITIES)[number];

export const DEPARTMENTS = [
  'executive',
  'sales',
  'marketing',
  'customer_success',
  'product',
  'design',
  'engineering',
  'data',
  'security',
  'it',
  'operations',
  'procurement',
  'finance',
  'hr',
  'legal',
] as const;
export type Department = (typeof DEPARTMENTS)[number];

/** The text facts of a lead; company facts are written with a dot. */
export const FACT_FIELDS = [
  'name',
  'first_name',
  'last_name',
  'email',
  'linkedin_url',
  'title',
  'seniority',
  'department',
  'company.name',
  'company.domain',
  'company.industry',
  'company.headcount',
  'company.location',
] as const;
export type FactField = (typeof FACT_FIELDS)[number];

/** Where a fact came from. Facts given by a caller or seen in a post take precedence over derived ones. */
export const FACT_SOURCES = ['request', 'signal', 'email', 'name', 'title', 'company', 'provider'] as const;
export type FactSource = (typeof FACT_SOURCES)[number];

const provenanceSchema = z
  .strictObject({
    source: z
      .enum(FACT_SOURCES)
      .describe(
        '`request`: sent in an API request; `signal`: seen in a post; `provider`: returned by the enrichment provider; otherwise ' +
          'the fact it was derived from.',
      ),
    confidence: z.number().min(0).max(1).describe('Confidence, from 0 to 1 (certain).'),
    at: z.iso.datetime().describe('When the fact was recorded.'),
  })
  .meta({ id: 'Provenance', description: 'Where a fact of a lead came from, and how certain it is.' });
export type Provenance = z.infer<typeof provenanceSchema>;

/**
 * Values of custom fields. They are small, because an event contains a lead twice, before and after the
 * change.
 */
const customValueSchema = z.union([z.string().max(500), z.number(), z.boolean()]);

/** What to do next. It is shown in Today from its date on, as long as the lead is open. */
const nextStepSchema = z
  .strictObject({
    text: z.string().describe('What to do.'),
    due_date: z.iso.date().nullable().describe('Date from which you are reminded; `null` for no reminder.'),
  })
  .meta({ id: 'NextStep', description: 'Next step for a lead.' });

/** A lead as returned by every API. Unknown facts are empty strings, as in signals. */
export const leadSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the lead.'),
    name: z.string().describe('Full name; an empty string if unknown.'),
    first_name: z.string().describe('Given name; an empty string if unknown.'),
    last_name: z.string().describe('Family name; an empty string if unknown.'),
    email: z.string().describe('Email address; an empty string if unknown.'),
    linkedin_url: z.string().describe('URL of the LinkedIn profile; an empty string if unknown.'),
    title: z.string().describe('Job title; an empty string if unknown.'),
    seniority: z
      .enum([...SENIORITIES, ''])
      .describe('Seniority, derived from the job title unless you set it; an empty string if unknown.'),
    department: z
      .enum([...DEPARTMENTS, ''])
      .describe('Department, derived from the job title unless you set it; an empty string if unknown.'),
    company: signalSchema.shape.company,
    source: z.string().describe('Where the lead came from, as given when it was created.'),
    stage: stageSchema.describe('Pipeline stage.'),
    stage_changed_at: z.iso.datetime().describe('When the lead entered its stage.'),
    icp_score: z
      .int()
      .min(0)
      .max(100)
      .nullable()
      .describe('Score of the best signal, from 0 to 100; `null` if the lead has no signals.'),
    classification: classificationSchema
      .nullable()
      .describe('Classification of the best signal; `null` if the lead has no signals.'),
    signal_count: z.int().describe('Number of signals attached to the lead.'),
    last_signal_at: z.iso
      .datetime()
      .nullable()
      .describe('When the newest signal was detected; `null` if the lead has no signals.'),
    tags: z.array(z.string()).describe('Your tags.'),
    custom_fields: z.record(z.string(), customValueSchema).describe('Your custom fields, by name.'),
    deal: dealSchema.nullable().describe('The deal of the lead; `null` if none is set.'),
    owner: z
      .string()
      .describe('Email address of the team member who owns the lead; an empty string if none does.'),
    notes: z.string().describe('Notes of your team; an empty string if there are none.'),
    next_step: nextStepSchema.nullable().describe('Next step for the lead; `null` if none is planned.'),
    provenance: z
      .record(z.string(), provenanceSchema)
      .describe(
        'Origin and confidence of each known fact, by the name of the field, such as `title` or `company.domain`.',
      ),
    enriched_at: z.iso
      .datetime()
      .nullable()
      .describe('When the lead was last enriched; `null` if it never was.'),
    created_at: z.iso.datetime().describe('When the lead was created.'),
    updated_at: z.iso.datetime().describe('When the lead was last changed.'),
  })
  .meta({ id: 'Lead', description: 'A person in the pipeline. Unknown facts are empty strings.' });
export type Lead = z.infer<typeof leadSchema>;

/** Maximum number of signals in the representation of a lead, best first; `signal_count` counts all. */
export const SHOWN_SIGNALS = 25;

/** A lead with its signals, as returned by the routes for single leads. */
export const leadDetailSchema = leadSchema
  .extend({
    signals: z
      .array(
        signalSchema.extend({
          explanation: explanationSchema.describe('Breakdown of the score.'),
        }),
      )
      .describe(`The ${SHOWN_SIGNALS} best signals, best first, each with the breakdown of its score.`),
  })
  .meta({ id: 'LeadDetail', description: 'A lead with its best signals.' });

/** Filters and position of a page of leads. A list matches any of its values; an empty one matches all. */
export interface LeadQuery extends PageRequest {
  stages: Lead['stage'][];
  classifications: NonNullable<Lead['classification']>[];
  minScore: number | null;
  companyDomains: string[];
  sources: string[];
  /** Email addresses of owners. */
  owners: string[];
  tag: string | null;
  /** Identity key of an email address or profile. At most one lead has it. */
  identity: string | null;
  /** Each word must be a prefix of a word in the name, address, title or company. */
  q: string | null;
  sort: '-created_at' | 'created_at' | '-icp_score';
}

/** The filters of lead lists. */
export const leadFilters = listFilters(
  {
    stage: listOf(stageSchema).describe('Only leads in these pipeline stages.'),
    classification: listOf(classificationSchema).describe(
      'Only leads whose best signal has one of these classifications.',
    ),
    min_score: wholeNumber(0, 100)
      .nullable()
      .default(null)
      .describe(
        'Only leads whose best signal has at least this score. Leads without a signal have no score.',
      ),
    company_domain: listOf(domainFilter).describe('Only leads at companies with these domains.'),
    source: listOf(z.string().max(300).toLowerCase()).describe(
      'Only leads from these sources, as in their `source`. Case-insensitive.',
    ),
    owner: listOf(z.string().max(254).toLowerCase()).describe(
      'Only leads owned by these team members, by email address.',
    ),
    tag: z
      .string()
      .trim()
      .min(1)
      .max(50)
      .toLowerCase()
      .optional()
      .describe('Only leads with this tag. Case-insensitive.'),
    email: z
      .string()
      .trim()
      .min(1)
      .max(254)
      .optional()
      .describe('The lead with this email address; at most one.'),
    q: searchText(200).describe(
      'Beginnings of words that must all occur in name, email address, title or company.',
    ),
    sort: z
      .enum(['-created_at', 'created_at', '-icp_score'])
      .default('-created_at')
      .describe('Sort order; `-` is descending.'),
  },
  (query): Omit<LeadQuery, keyof PageRequest> => ({
    stages: query.stage,
    classifications: query.classification,
    minScore: query.min_score,
    companyDomains: query.company_domain,
    sources: query.source,
    owners: query.owner,
    tag: query.tag ?? null,
    identity: query.email === undefined ? null : `email:${normaliseEmail(query.email)}`,
    q: query.q,
    sort: query.sort,
  }),
);

export const MAX_BATCH_LEADS = 100;
export const MAX_TAGS = 100;
export const MAX_CUSTOM_FIELDS = 50;
const MAX_NOTES_CHARS = 5_000;
const MAX_SIGNAL_IDS = 100;

/** Omitted, null and empty all mean "unknown", because exports of other systems contain any of them. */
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
/** For a patch, which may remove as many fields as it adds. */
const MAX_CUSTOM_CHANGES = 2 * MAX_CUSTOM_FIELDS;
const customFields = boundedRecord(customName, customValueSchema.nullable(), MAX_CUSTOM_CHANGES);

/** The facts about a person in request bodies. */
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

/**
 * Body of `PATCH /v1/leads/{id}` (RFC 7396): null or an empty string clears a member, omitted members stay as
 * they are.
 */
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
