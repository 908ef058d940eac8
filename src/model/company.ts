import { z } from 'zod';
import { fold } from '../lib/text.ts';
import { COMPANY_FACTS, type CompanyFact, type CompanyFacts } from './company-facts.ts';
import { listFilters, listOf, type PageRequest } from './filters.ts';
import { type Signal, signalSchema } from './signal.ts';
import { domainFilter, lineText, webUrl } from './text.ts';

/** Maximum number of signals and people in the representation of one company. */
export const MAX_TOP_SIGNALS = 5;
export const MAX_CONTACTS = 25;

const MAX_FACT_CHARS = 300;

/** Omitted members stay as they are; null or empty ones remove the manual value. */
const settable = (maxChars: number) =>
  lineText(maxChars)
    .nullable()
    .transform((value) => value || null)
    .optional();

/** Body of `PUT /v1/companies/{company}`. */
export const companyInputSchema = z.strictObject({
  name: settable(MAX_FACT_CHARS).describe('Name of the company; `null` removes your value.'),
  industry: settable(MAX_FACT_CHARS).describe('Industry of the company; `null` removes your value.'),
  headcount: z
    .union([lineText(MAX_FACT_CHARS), z.int().min(0).max(10_000_000), z.null()])
    .transform((value) => (value === null || value === '' ? null : String(value)))
    .optional()
    .describe('Number of employees: a number or a range such as `51-200`; `null` removes your value.'),
  location: settable(MAX_FACT_CHARS).describe('Location of the company; `null` removes your value.'),
  description: z
    .string()
    .trim()
    .max(2_000)
    .nullable()
    .transform((value) => value || null)
    .optional()
    .describe('Description of the company; `null` removes your value.'),
  linkedin_url: z
    .union([webUrl, z.literal(''), z.null()])
    .meta({ id: 'OptionalUrl', description: 'Absolute HTTP or HTTPS URL; none if null or empty.' })
    .transform((value) => value || null)
    .optional()
    .describe("URL of the company's LinkedIn page; `null` removes your value."),
});
export type CompanyInput = z.output<typeof companyInputSchema>;

const sourceSchema = z
  .strictObject({
    source: z
      .enum(['manual', 'signal'])
      .describe('`manual`: set through the API or dashboard; `signal`: seen in a signal.'),
    signal_id: z
      .string()
      .nullable()
      .describe('ID of the first signal that contained the value; `null` if it was set manually.'),
    at: z.iso.datetime().describe('When the value was recorded.'),
  })
  .meta({ id: 'CompanyFactSource', description: 'Where a fact of a company came from.' });

const FACT_MEANINGS: Record<CompanyFact, string> = {
  name: 'Name of the company; an empty string if unknown.',
  industry: 'Industry of the company; an empty string if unknown.',
  headcount: 'Number of employees: a number or a range such as `11-50`; an empty string if unknown.',
  location: 'Location of the company; an empty string if unknown.',
  description: 'Description of the company; an empty string if none is set.',
  linkedin_url: "URL of the company's LinkedIn page; an empty string if none is set.",
};
const factFields = Object.fromEntries(
  COMPANY_FACTS.map((field) => [field, z.string().describe(FACT_MEANINGS[field])]),
) as Record<CompanyFact, z.ZodString>;

/** A company as returned in lists. Unknown facts are empty strings, as in signals. */
export const companySchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the company.'),
    domain: z.string().describe('Domain without `www.`, in lower case and punycode.'),
    ...factFields,
    sources: z
      .partialRecord(z.enum(COMPANY_FACTS), sourceSchema)
      .describe('Origin of each known fact, by the name of the field. Values you set take precedence.'),
    signal_counts: z
      .strictObject({
        last_7_days: z.int().describe('Signals of the last 7 days.'),
        last_30_days: z.int().describe('Signals of the last 30 days.'),
        last_90_days: z.int().describe('Signals of the last 90 days.'),
      })
      .describe('Number of signals from this company.'),
    last_signal_at: z.iso
      .datetime()
      .nullable()
      .describe('When the newest signal was detected; `null` if there is none.'),
    created_at: z.iso.datetime().describe('When the company was created.'),
    updated_at: z.iso.datetime().describe('When a fact of the company last changed.'),
  })
  .meta({
    id: 'Company',
    description: 'A company named in signals or added by you. Unknown facts are empty strings.',
  });
export type CompanyResource = z.infer<typeof companySchema>;

const contactSchema = z.strictObject({
  lead_id: z.string().nullable().describe('ID of the lead; `null` if the person is not a lead yet.'),
  signal_id: z
    .string()
    .nullable()
    .describe("ID of the person's newest signal; `null` if the person is a lead."),
  name: z.string().describe('Full name; an empty string if unknown.'),
  title: z.string().describe('Job title; an empty string if unknown.'),
  email: z.string().describe('Email address; an empty string if unknown.'),
  linkedin_url: z.string().describe('URL of the LinkedIn profile; an empty string if unknown.'),
});
export type CompanyContact = z.infer<typeof contactSchema>;

/** A company with its signals and people, as returned by its own route. */
export const companyDetailSchema = companySchema
  .extend({
    top_signals: z
      .array(signalSchema)
      .describe(`Best signals of the last 90 days, best first; at most ${MAX_TOP_SIGNALS}.`),
    contacts: z
      .array(contactSchema)
      .describe(
        `Leads at the company, newest first, followed by other people seen in its signals; at most ${MAX_CONTACTS}.`,
      ),
  })
  .meta({ id: 'CompanyDetail', description: 'A company with its best signals and known people.' });

/** A company as stored. Times are Unix milliseconds; `version` is incremented by each change of its facts. */
export interface Company {
  id: string;
  tenantId: string;
  domain: string;
  facts: CompanyFacts;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** A company named in a signal; `id` is used if the company is new. */
export interface ObservedCompany {
  id: string;
  company: Signal['company'];
}

/** Filters and position of a page of companies. */
export interface CompanyQuery extends PageRequest {
  domains: string[];
  industries: string[];
  /** Part of the name or domain, folded. */
  search: string | null;
  sort: '-created_at' | '-last_signal_at';
}

/** The filters of company lists. */
export const companyFilters = listFilters(
  {
    domain: listOf(domainFilter).describe('Only companies with these domains.'),
    industry: listOf(z.string().max(300)).describe('Only companies in these industries. Case-insensitive.'),
    q: z
      .string()
      .trim()
      .max(200)
      .optional()
      .describe('Part of the name or domain. Matching ignores case and diacritics.'),
    sort: z
      .enum(['-created_at', '-last_signal_at'])
      .default('-created_at')
      .describe(
        'Sort order; `-` is descending. `-last_signal_at` is exact to the hour: a company that gets a signal while you page may ' +
          'move to a page you have already read.',
      ),
  },
  (query): Omit<CompanyQuery, keyof PageRequest> => ({
    domains: query.domain,
    industries: query.industry.map(fold),
    search: query.q ? fold(query.q) : null,
    sort: query.sort,
  }),
);
