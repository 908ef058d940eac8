import { z } from 'zod';
import { domainFilter } from './domain.ts';
import { listFilters, listOf, searchText, wholeNumber } from './filters.ts';
import type { Place } from './page.ts';
import { normaliseEmail } from './person-keys.ts';
import { dealSchema, stageSchema } from './pipeline.ts';
import { classificationSchema, explanationSchema, signalSchema } from './signal.ts';

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

/** Everything that can be known of a lead as text; a company's facts are written with a dot. */
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

/** Where a fact came from; what was given by hand or seen in a post stands above what was concluded. */
export const FACT_SOURCES = ['request', 'signal', 'email', 'name', 'title', 'company', 'provider'] as const;
export type FactSource = (typeof FACT_SOURCES)[number];

const provenanceSchema = z
  .strictObject({
    source: z
      .enum(FACT_SOURCES)
      .describe(
        '`request`: given by a caller; `signal`: seen in a post; `provider`: told by the enrichment provider; else what it was concluded from',
      ),
    confidence: z.number().min(0).max(1).describe('1: certain'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'Provenance' });
export type Provenance = z.infer<typeof provenanceSchema>;

/** Values that callers attach under names of their own: small, as events carry a lead twice, before and after. */
export const customValueSchema = z.union([z.string().max(500), z.number(), z.boolean()]);

/** What is to be done next. From its date on it is in Today, as long as the lead is open. */
const nextStepSchema = z
  .strictObject({
    text: z.string(),
    due_date: z.iso.date().nullable().describe('The day from which on you are reminded of it'),
  })
  .meta({ id: 'NextStep' })
  .describe('What is to be done next');

/** A lead as every API shows it; what is not known is an empty string, as in signals. */
export const leadSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    linkedin_url: z.string(),
    title: z.string(),
    seniority: z.enum([...SENIORITIES, '']),
    department: z.enum([...DEPARTMENTS, '']),
    company: signalSchema.shape.company,
    source: z.string().describe('Where the lead came from'),
    stage: stageSchema,
    stage_changed_at: z.iso.datetime(),
    icp_score: z.int().min(0).max(100).nullable().describe('Of its best signal; null where it has none'),
    classification: classificationSchema.nullable().describe('Of its best signal'),
    signal_count: z.int(),
    last_signal_at: z.iso.datetime().nullable(),
    tags: z.array(z.string()),
    custom_fields: z.record(z.string(), customValueSchema),
    deal: dealSchema.nullable(),
    owner: z.string().describe('E-mail address of the team member who follows up; empty where nobody does'),
    notes: z.string().describe('What your team has noted'),
    next_step: nextStepSchema.nullable().describe('What is to be done next; null where nothing is planned'),
    provenance: z
      .record(z.string(), provenanceSchema)
      .describe('Where each known fact came from and how sure it is, by its name: `title`, `company.domain`'),
    enriched_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Lead' });
export type Lead = z.infer<typeof leadSchema>;

/** How many of a lead's signals its answer holds, best first; `signal_count` counts all. */
export const SHOWN_SIGNALS = 25;

/** A lead with its signals, as the routes of single leads show it. */
export const leadDetailSchema = leadSchema
  .extend({
    signals: z
      .array(signalSchema.extend({ explanation: explanationSchema }))
      .describe(`The ${SHOWN_SIGNALS} best signals, best first, each with the reasons of its score`),
  })
  .meta({ id: 'LeadDetail' });

/** Filters and position of a page of leads. Lists let through what fits any of their values. */
export interface LeadQuery extends Place {
  stages: Lead['stage'][];
  classifications: NonNullable<Lead['classification']>[];
  minScore: number | null;
  companyDomains: string[];
  sources: string[];
  /** Addresses of those who follow up. */
  owners: string[];
  tag: string | null;
  /** Identity key of an e-mail address or profile: at most one lead has it. */
  identity: string | null;
  /** Words that all begin a word of name, address, title or company. */
  q: string | null;
  sort: '-created_at' | 'created_at' | '-icp_score';
}

/** The filters of lists of leads. */
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
      'Only leads that these members of the team follow up, by email address.',
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
  (query): Omit<LeadQuery, keyof Place> => ({
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
