import { z } from 'zod';
import { codePointLength } from '../lib/text.ts';
import { CLASSIFICATIONS } from './constants.ts';
import { domainFilter, domainSchema } from './domain.ts';
import { listFilters, listOf, queryTime, searchText, wholeNumber } from './filters.ts';
import type { Place } from './page.ts';
import { idInput, lineText, timeText, webUrl } from './text.ts';

export const SIGNAL_TYPES = ['intent_post', 'job_change', 'funding_event', 'review', 'qa_forum'] as const;
export const signalTypeSchema = z.enum(SIGNAL_TYPES);
export type SignalType = z.infer<typeof signalTypeSchema>;

export const classificationSchema = z.enum(CLASSIFICATIONS);
export type Classification = z.infer<typeof classificationSchema>;

export const MAX_TEXT_CODE_POINTS = 20_000;
export const MAX_EXCERPT_CODE_POINTS = 500;
export const MAX_BATCH_SIGNALS = 500;
const MAX_EXTERNAL_ID_CHARS = 300;

const fact = lineText(300);
const emailOrEmpty = z.union([z.email().max(254), z.literal('')]).meta({ id: 'EmailOrEmpty' });
const urlOrEmpty = z.union([webUrl, z.literal('')]).meta({ id: 'UrlOrEmpty' });

/** An observed post as it comes in at `POST /v1/signals`. Only `platform.name` and `text` must be known. */
export const observedPostSchema = z
  .strictObject({
    platform: z.strictObject({
      name: z
        .string()
        .trim()
        .toLowerCase()
        .max(64)
        .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be a platform name such as "reddit"'),
      post_url: urlOrEmpty.optional(),
      posted_at: z.union([timeText, z.literal('')]).optional(),
    }),
    text: z
      .string()
      .refine((text) => text.trim() !== '', 'must not be empty')
      .refine(
        (text) => codePointLength(text) <= MAX_TEXT_CODE_POINTS,
        `must have at most ${MAX_TEXT_CODE_POINTS} characters`,
      )
      .meta({ maxLength: MAX_TEXT_CODE_POINTS }),
    external_id: z.string().trim().min(1).max(MAX_EXTERNAL_ID_CHARS).optional(),
    signal_type: signalTypeSchema.optional(),
    prospect: z
      .strictObject({
        name: fact.optional(),
        title: fact.optional(),
        email: emailOrEmpty.optional(),
        linkedin_url: urlOrEmpty.optional(),
      })
      .optional(),
    company: z
      .strictObject({
        name: fact.optional(),
        domain: z.union([domainSchema, z.literal('')]).optional(),
        industry: fact.optional(),
        headcount: z.union([fact, z.int().min(0).max(10_000_000)]).optional(),
        location: fact.optional(),
      })
      .optional(),
    icp_profile_id: idInput.optional(),
  })
  .meta({ id: 'ObservedPost' });
export type ObservedPost = z.infer<typeof observedPostSchema>;

/** Another place of a signal's post. */
const alsoSeenSchema = z.strictObject({
  platform: z.string(),
  post_url: z.string(),
  posted_at: z.string(),
});
export type AlsoSeen = z.infer<typeof alsoSeenSchema>;

/** A signal as every API shows it: the webhook payload's members plus the ids it is tied to (specification, section 2). */
export const signalSchema = z
  .strictObject({
    signal_id: z.string(),
    signal_type: signalTypeSchema,
    classification: classificationSchema,
    icp_score: z.int().min(0).max(100).describe('How well it fits the profile; `explanation` says why'),
    timestamp: z.iso.datetime().describe('When it was detected'),
    prospect: z.strictObject({
      name: z.string(),
      title: z.string(),
      email: z.string(),
      linkedin_url: z.string(),
    }),
    company: z.strictObject({
      name: z.string(),
      domain: z.string(),
      industry: z.string(),
      headcount: z.string().describe('A number or a range such as "11-50"'),
      location: z.string(),
    }),
    platform: z.strictObject({ name: z.string(), post_url: z.string(), posted_at: z.string() }),
    excerpt: z.string().describe('The start of the post, at most 500 characters'),
    icp_profile_name: z.string(),
    profile_url: z.string().describe('The signal in the dashboard'),
    icp_profile_id: z.string(),
    external_id: z.string().nullable().describe("The post's id on its platform"),
    lead_id: z.string().nullable().describe('The lead it is attached to'),
    also_seen: z
      .array(alsoSeenSchema)
      .optional()
      .describe('Where else the same text was posted, oldest first; left out where that is nowhere'),
  })
  .meta({ id: 'Signal' });
export type Signal = z.infer<typeof signalSchema>;

/** Why one factor gave its points; offsets are Unicode code points into the signal's `text`. */
const evidenceSchema = z.strictObject({
  field: z.string(),
  start: z.int().min(0),
  end: z.int().min(0),
  text: z.string(),
});
export type Evidence = z.infer<typeof evidenceSchema>;

const factorSchema = z
  .strictObject({
    key: z.string(),
    points: z.int(),
    max: z.int(),
    label: z.string(),
    evidence: z.array(evidenceSchema),
  })
  .meta({ id: 'ScoreFactor' });
export type Factor = z.infer<typeof factorSchema>;

/** A score taken apart: the points of factors and negatives add up to `score`. */
export const explanationSchema = z
  .strictObject({
    score: z.int().min(0).max(100),
    /** Share of the profile's questions that the known facts could answer, 0 to 1. */
    coverage: z.number().min(0).max(1),
    model_version: z.string(),
    thresholds: z.strictObject({ hot: z.int(), warm: z.int() }),
    factors: z.array(factorSchema),
    negatives: z.array(factorSchema),
    summary: z.string(),
  })
  .meta({ id: 'Explanation' });
export type Explanation = z.infer<typeof explanationSchema>;

/** Filters and position of a page of signals. Times are Unix milliseconds, half open: from <= timestamp < to. */
export interface SignalQuery extends Place {
  platforms: string[];
  /** Profile ids or names; a signal fits if either does. */
  icps: string[];
  from: number | null;
  to: number | null;
  signalTypes: SignalType[];
  classifications: Classification[];
  minScore: number | null;
  companyDomains: string[];
  /** The post's id on its platform, as it is shown; left out: any. */
  externalId?: string;
  /** Words that must all occur in text, people or company, as a person types them; null: not searched. */
  q: string | null;
  /** Whether the last word of `q` may be a beginning: of the first few words that the index has of those. */
  qBegins?: boolean;
  sort: '-timestamp' | 'timestamp' | '-icp_score';
  /** Whether each row carries its explanation. */
  explain: boolean;
}

/** The filters of lists of signals. */
export const signalFilters = listFilters(
  {
    platform: listOf(z.string().max(64).toLowerCase()).describe(
      'Only signals from these platforms, such as `reddit`. Case-insensitive.',
    ),
    icp: listOf(z.string().max(100)).describe(
      'Only signals of these profiles, by ID or name. Use the ID of a profile whose name contains a comma.',
    ),
    from: queryTime.describe('Only signals detected at or after this time.'),
    to: queryTime.describe('Only signals detected before this time.'),
    signal_type: listOf(signalTypeSchema).describe('Only signals of these types.'),
    classification: listOf(classificationSchema).describe('Only signals with these classifications.'),
    min_score: wholeNumber(0, 100)
      .nullable()
      .default(null)
      .describe('Only signals with at least this score.'),
    company_domain: listOf(domainFilter).describe('Only signals from companies at these domains.'),
    external_id: z
      .string()
      .min(1)
      .max(MAX_EXTERNAL_ID_CHARS)
      .optional()
      .describe(
        'Only signals of the post with this ID on its platform, compared exactly. A post has one signal for each profile it matches.',
      ),
    q: searchText(500).describe(
      'Words that must all occur in the text, the people or the company. Matching ignores case and diacritics, and finds singular ' +
        'and plural. Quote words to search for a phrase.',
    ),
    // No default here: whether it was given matters where `order` is.
    sort: z
      .enum(['-timestamp', 'timestamp', '-icp_score'])
      .optional()
      .meta({ default: '-timestamp' })
      .describe('Sort order; `-` is descending.'),
  },
  (query): Omit<SignalQuery, keyof Place | 'explain'> => ({
    platforms: query.platform,
    icps: query.icp,
    from: query.from,
    to: query.to,
    signalTypes: query.signal_type,
    classifications: query.classification,
    minScore: query.min_score,
    companyDomains: query.company_domain,
    // Only where it is given: cursors from before this filter existed stay valid.
    ...(query.external_id !== undefined && { externalId: query.external_id }),
    q: query.q,
    sort: query.sort ?? '-timestamp',
  }),
);
