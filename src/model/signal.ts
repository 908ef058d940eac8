import { z } from 'zod';
import { codePointLength } from '../lib/text.ts';
import { CLASSIFICATIONS } from './constants.ts';
import { listFilters, listOf, type PageRequest, queryTime, searchText, wholeNumber } from './filters.ts';
import { domainFilter, domainSchema, idInput, lineText, timeText, webUrl } from './text.ts';

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
const emailOrEmpty = z
  .union([z.email().max(254), z.literal('')])
  .meta({ id: 'EmailOrEmpty', description: 'Email address; an empty string if unknown.' });
const urlOrEmpty = z
  .union([webUrl, z.literal('')])
  .meta({ id: 'UrlOrEmpty', description: 'Absolute HTTP or HTTPS URL; an empty string if unknown.' });

/** An observed post in the body of `POST /v1/signals`. Only `platform.name` and `text` are required. */
export const observedPostSchema = z
  .strictObject({
    platform: z
      .strictObject({
        name: z
          .string()
          .trim()
          .toLowerCase()
          .max(64)
          .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be a platform name such as "reddit"')
          .describe('Name of the platform, such as `reddit`. Case-insensitive.'),
        post_url: urlOrEmpty.optional().describe('URL of the post.'),
        posted_at: z
          .union([timeText, z.literal('')])
          .optional()
          .describe('When the post was published; an empty string if unknown.'),
      })
      .describe('Where the post was published.'),
    text: z
      .string()
      .refine((text) => text.trim() !== '', 'must not be empty')
      .refine(
        (text) => codePointLength(text) <= MAX_TEXT_CODE_POINTS,
        `must have at most ${MAX_TEXT_CODE_POINTS} characters`,
      )
      .meta({ maxLength: MAX_TEXT_CODE_POINTS })
      .describe('Full text of the post.'),
    external_id: z
      .string()
      .trim()
      .min(1)
      .max(MAX_EXTERNAL_ID_CHARS)
      .optional()
      .describe(
        'ID of the post on its platform. Identifies the post: sending it again creates no second signal, and updates the ' +
          'existing ones if the text has changed.',
      ),
    signal_type: signalTypeSchema.optional().describe('Type of the post. Detected from the text if omitted.'),
    prospect: z
      .strictObject({
        name: fact.optional().describe('Full name of the author.'),
        title: fact.optional().describe('Job title of the author.'),
        email: emailOrEmpty.optional().describe('Email address of the author.'),
        linkedin_url: urlOrEmpty.optional().describe("URL of the author's LinkedIn profile."),
      })
      .optional()
      .describe('Author of the post.'),
    company: z
      .strictObject({
        name: fact.optional().describe('Name of the company.'),
        domain: z
          .union([domainSchema, z.literal('')])
          .optional()
          .describe('Domain of the company. A website address is reduced to its domain.'),
        industry: fact.optional().describe('Industry of the company.'),
        headcount: z
          .union([fact, z.int().min(0).max(10_000_000)])
          .optional()
          .describe('Number of employees: a number or a range such as `11-50`.'),
        location: fact.optional().describe('Location of the company.'),
      })
      .optional()
      .describe("The author's company."),
    icp_profile_id: idInput
      .optional()
      .describe(
        'Match the post with this profile only, active or not. If omitted, all active profiles are tried.',
      ),
  })
  .meta({
    id: 'ObservedPost',
    description: 'A post as you observed it. Only `platform.name` and `text` are required.',
  });
export type ObservedPost = z.infer<typeof observedPostSchema>;

/** Another place where the post of a signal was published. */
const alsoSeenSchema = z.strictObject({
  platform: z.string().describe('Name of the platform, such as `reddit`.'),
  post_url: z.string().describe('URL of the post; an empty string if unknown.'),
  posted_at: z.string().describe('When the post was published; an empty string if unknown.'),
});
export type AlsoSeen = z.infer<typeof alsoSeenSchema>;

/**
 * A signal as returned by every API: the members of the webhook payload, plus the IDs of related objects
 * (specification, section 2).
 */
export const signalSchema = z
  .strictObject({
    signal_id: z.string().describe('Unique identifier of the signal.'),
    signal_type: signalTypeSchema.describe('Type of the post.'),
    classification: classificationSchema.describe('Class of the score, by the thresholds of the profile.'),
    icp_score: z
      .int()
      .min(0)
      .max(100)
      .describe('How well the post matches the profile, from 0 to 100. The `explanation` has the reasons.'),
    timestamp: z.iso.datetime().describe('When the signal was detected.'),
    prospect: z
      .strictObject({
        name: z.string().describe('Full name; an empty string if unknown.'),
        title: z.string().describe('Job title; an empty string if unknown.'),
        email: z.string().describe('Email address; an empty string if unknown.'),
        linkedin_url: z.string().describe('URL of the LinkedIn profile; an empty string if unknown.'),
      })
      .describe('Author of the post.'),
    company: z
      .strictObject({
        name: z.string().describe('Name of the company; an empty string if unknown.'),
        domain: z.string().describe('Domain of the company, such as `acme.com`; an empty string if unknown.'),
        industry: z.string().describe('Industry of the company; an empty string if unknown.'),
        headcount: z
          .string()
          .describe('Number of employees: a number or a range such as `11-50`; an empty string if unknown.'),
        location: z.string().describe('Location of the company; an empty string if unknown.'),
      })
      .describe("The person's company."),
    platform: z
      .strictObject({
        name: z.string().describe('Name of the platform, such as `reddit`.'),
        post_url: z.string().describe('URL of the post; an empty string if unknown.'),
        posted_at: z.string().describe('When the post was published; an empty string if unknown.'),
      })
      .describe('Where the post was published.'),
    excerpt: z.string().describe('Beginning of the post, up to 500 characters.'),
    icp_profile_name: z.string().describe('Name of the profile the post was matched with.'),
    profile_url: z.string().describe('URL of the signal in the dashboard.'),
    icp_profile_id: z.string().describe('ID of the profile the post was matched with.'),
    external_id: z.string().nullable().describe('ID of the post on its platform; `null` if unknown.'),
    lead_id: z
      .string()
      .nullable()
      .describe('ID of the lead the signal is attached to; `null` if it is attached to none.'),
    also_seen: z
      .array(alsoSeenSchema)
      .optional()
      .describe('Other places where the same text was posted, oldest first. Omitted if there are none.'),
  })
  .meta({
    id: 'Signal',
    description: 'A post matched with one profile. Unknown facts are empty strings.',
  });
export type Signal = z.infer<typeof signalSchema>;

/** Evidence for a factor; offsets are Unicode code points into the signal's `text`. */
const evidenceSchema = z.strictObject({
  field: z.string().describe('Field that contains the evidence, such as `text` or `prospect.title`.'),
  start: z.int().min(0).describe('Offset of the first character, in Unicode code points.'),
  end: z.int().min(0).describe('Offset after the last character, in Unicode code points.'),
  text: z.string().describe('The quoted words.'),
});
export type Evidence = z.infer<typeof evidenceSchema>;

const factorSchema = z
  .strictObject({
    key: z.string().describe('Machine-readable name of the reason, such as `intent`.'),
    points: z.int().describe('Points added to the score, or subtracted if negative.'),
    max: z.int().describe('Maximum number of points this reason can add.'),
    label: z.string().describe('Human-readable name of the reason.'),
    evidence: z.array(evidenceSchema).describe('Words in the post and facts that the points are based on.'),
  })
  .meta({ id: 'ScoreFactor', description: 'One reason for a score.' });
export type Factor = z.infer<typeof factorSchema>;

/** The breakdown of a score: the points of factors and negatives add up to `score`. */
export const explanationSchema = z
  .strictObject({
    score: z.int().min(0).max(100).describe('The score, from 0 to 100.'),
    coverage: z
      .number()
      .min(0)
      .max(1)
      .describe("Share of the profile's criteria that could be checked with the known facts, from 0 to 1."),
    model_version: z
      .string()
      .describe(
        'Version of the scoring model. The same post, profile and version always give the same score.',
      ),
    thresholds: z
      .strictObject({
        hot: z.int().describe('Lowest score that is classified `hot`.'),
        warm: z.int().describe('Lowest score that is classified `warm`.'),
      })
      .describe("The profile's thresholds when the score was computed."),
    factors: z.array(factorSchema).describe('Reasons that added points.'),
    negatives: z.array(factorSchema).describe('Reasons that subtracted points.'),
    summary: z.string().describe('The explanation in one sentence.'),
  })
  .meta({
    id: 'Explanation',
    description: 'Breakdown of a score: the points of `factors` and `negatives` add up to `score`.',
  });
export type Explanation = z.infer<typeof explanationSchema>;

/** A signal with its explanation, as lists of the store combine them. */
export type ExplainedSignal = Signal & { explanation: Explanation };

/**
 * Filters and position of a page of signals. Times are Unix milliseconds, in a half-open range: from <=
 * timestamp < to.
 */
export interface SignalQuery extends PageRequest {
  platforms: string[];
  /** Ids or names of profiles; one of them must match. */
  icps: string[];
  from: number | null;
  to: number | null;
  signalTypes: SignalType[];
  classifications: Classification[];
  minScore: number | null;
  companyDomains: string[];
  /** The ID of the post on its platform, compared exactly; any if omitted. */
  externalId?: string;
  /** Words that must all occur in text, people or company, as typed; null: no search. */
  q: string | null;
  /**
   * Whether the last word of `q` may be a prefix; it matches the first few indexed words that start with it.
   */
  qBegins?: boolean;
  sort: '-timestamp' | 'timestamp' | '-icp_score';
  /** Whether each row includes its explanation. */
  explain: boolean;
  /** Filters by triage state; any if omitted. */
  triage?: TriageFilter;
}

/**
 * Done: judged, or made part of a lead by a user. Open: neither that nor snoozed. A new post by a lead is attached to the lead
 * and open until someone judges it or adds it to the pipeline.
 */
export const TRIAGE_STATES = ['open', 'snoozed', 'done', 'all'] as const;

export interface TriageFilter {
  state: (typeof TRIAGE_STATES)[number];
  /** Email address of the assignee; null: any or none. */
  assignee: string | null;
  /** Unix milliseconds, to compare with the end of snoozes. */
  now: number;
}

/** The triage state of a signal. */
export interface SignalTriage {
  signalId: string;
  /** Null if the signal was not judged. */
  relevant: boolean | null;
  /** Email address; empty: unassigned. */
  assignee: string;
  snoozedUntil: number | null;
}

/** Saved filters of the list of signals. */
export interface SignalView {
  id: string;
  tenantId: string;
  name: string;
  /** The query string of the list's URL, without the question mark. */
  query: string;
  createdAt: number;
}

/** The filters of signal lists. */
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
    // No default here: if `order` is given, it matters whether this was.
    sort: z
      .enum(['-timestamp', 'timestamp', '-icp_score'])
      .optional()
      .meta({ default: '-timestamp' })
      .describe('Sort order; `-` is descending.'),
  },
  (query): Omit<SignalQuery, keyof PageRequest | 'explain'> => ({
    platforms: query.platform,
    icps: query.icp,
    from: query.from,
    to: query.to,
    signalTypes: query.signal_type,
    classifications: query.classification,
    minScore: query.min_score,
    companyDomains: query.company_domain,
    // Included only if given, so that cursors issued before this filter existed stay valid.
    ...(query.external_id !== undefined && { externalId: query.external_id }),
    q: query.q,
    sort: query.sort ?? '-timestamp',
  }),
);

/** Body of `POST /v1/signals/{id}/feedback`. */
export const feedbackInputSchema = z.strictObject({
  relevant: z.boolean().describe('Whether the signal was relevant.'),
  reason: z.string().trim().max(1_000).default('').describe('The reason, in your own words.'),
});

/** Feedback as returned by every API. */
export const feedbackSchema = z.strictObject({
  signal_id: z.string().describe('ID of the signal.'),
  relevant: z.boolean().describe('Whether the signal was relevant.'),
  reason: z.string().describe('The reason given; an empty string if none.'),
  created_at: z.iso.datetime().describe('When the feedback was given.'),
});
