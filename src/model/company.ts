import { z } from 'zod';
import { fold } from '../lib/text.ts';
import { COMPANY_FACTS, type CompanyFact, type CompanyFacts } from './company-facts.ts';
import { domainFilter } from './domain.ts';
import { listFilters, listOf } from './filters.ts';
import type { Place } from './page.ts';
import { type Signal, signalSchema } from './signal.ts';
import { lineText, webUrl } from './text.ts';

/** How many signals and people a company's own answer holds. */
export const MAX_TOP_SIGNALS = 5;
export const MAX_CONTACTS = 25;

const MAX_FACT_CHARS = 300;

/** Left out: stays as it is; null or empty: the manual value goes. */
const settable = (maxChars: number) =>
  lineText(maxChars)
    .nullable()
    .transform((value) => value || null)
    .optional();

/** Body of `PUT /v1/companies/{company}`. */
export const companyInputSchema = z.strictObject({
  name: settable(MAX_FACT_CHARS),
  industry: settable(MAX_FACT_CHARS),
  headcount: z
    .union([lineText(MAX_FACT_CHARS), z.int().min(0).max(10_000_000), z.null()])
    .transform((value) => (value === null || value === '' ? null : String(value)))
    .optional()
    .describe('A number or a range such as "51-200"'),
  location: settable(MAX_FACT_CHARS),
  description: z
    .string()
    .trim()
    .max(2_000)
    .nullable()
    .transform((value) => value || null)
    .optional(),
  linkedin_url: z
    .union([webUrl, z.literal(''), z.null()])
    .meta({ id: 'OptionalUrl' })
    .transform((value) => value || null)
    .optional(),
});
export type CompanyInput = z.output<typeof companyInputSchema>;

const sourceSchema = z
  .strictObject({
    source: z.enum(['manual', 'signal']).describe('Set by a caller, or seen in a signal'),
    signal_id: z.string().nullable().describe('The signal that said so first'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'CompanyFactSource' });

const factFields = Object.fromEntries(COMPANY_FACTS.map((field) => [field, z.string()])) as Record<
  CompanyFact,
  z.ZodString
>;

/** A company as lists show it; what is not known is an empty string, as in signals. */
export const companySchema = z
  .strictObject({
    id: z.string(),
    domain: z.string().describe('Host name without `www.`, in lower case and punycode'),
    ...factFields,
    sources: z
      .partialRecord(z.enum(COMPANY_FACTS), sourceSchema)
      .describe('Where each known field came from; what was set by hand stands above what was seen'),
    signal_counts: z
      .strictObject({ last_7_days: z.int(), last_30_days: z.int(), last_90_days: z.int() })
      .describe('Signals that named the company, up to now'),
    last_signal_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().describe('When a field last changed'),
  })
  .meta({ id: 'Company' });
export type CompanyResource = z.infer<typeof companySchema>;

const contactSchema = z.strictObject({
  lead_id: z.string().nullable().describe('null: seen in a signal, and no lead yet'),
  signal_id: z.string().nullable().describe('The newest signal of one who is no lead yet'),
  name: z.string(),
  title: z.string(),
  email: z.string(),
  linkedin_url: z.string(),
});
export type CompanyContact = z.infer<typeof contactSchema>;

/** A company with the signals and people that are known of it, as its own route shows it. */
export const companyDetailSchema = companySchema
  .extend({
    top_signals: z
      .array(signalSchema)
      .describe(`The best of the last 90 days, best first; at most ${MAX_TOP_SIGNALS}`),
    contacts: z
      .array(contactSchema)
      .describe(
        `Leads at the company, newest first, then people seen in its signals; at most ${MAX_CONTACTS}`,
      ),
  })
  .meta({ id: 'CompanyDetail' });

/** A company as stored. Times are Unix milliseconds; `version` grows with every change of its facts. */
export interface Company {
  id: string;
  tenantId: string;
  domain: string;
  facts: CompanyFacts;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** A company as a signal names it; `id` is what it gets if it is new. */
export interface ObservedCompany {
  id: string;
  company: Signal['company'];
}

/** Filters and position of a page of companies. */
export interface CompanyQuery extends Place {
  domains: string[];
  industries: string[];
  /** A part of name or domain, folded. */
  search: string | null;
  sort: '-created_at' | '-last_signal_at';
}

/** The filters of lists of companies. */
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
  (query): Omit<CompanyQuery, keyof Place> => ({
    domains: query.domain,
    industries: query.industry.map(fold),
    search: query.q ? fold(query.q) : null,
    sort: query.sort,
  }),
);
