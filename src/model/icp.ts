import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { fold } from '../lib/text.ts';
import { DEFAULT_WEIGHTS } from './constants.ts';
import { SIGNAL_TYPES, type SignalType, signalTypeSchema } from './signal.ts';
import { requiredLine } from './text.ts';

export const WEIGHT_KEYS = ['intent', 'topic', 'urgency', 'budget', 'pain', 'fit'] as const;
export type WeightKey = (typeof WEIGHT_KEYS)[number];

/** Labels of the weighted kinds of reasons. */
export const WEIGHT_LABELS: Readonly<Record<WeightKey, string>> = {
  intent: 'Asks for something to buy',
  topic: 'On your topic',
  urgency: 'Mentions a deadline',
  budget: 'Mentions a budget',
  pain: 'Describes a problem',
  fit: 'Fits your audience',
};

/** Relative weights of the kinds of reasons: 100 points are divided among them. */
export type Weights = Record<WeightKey, number>;

/**
 * An Ideal Customer Profile: what a tenant looks for. Empty lists match everything. Times are Unix
 * milliseconds.
 */
export interface IcpProfile {
  id: string;
  tenantId: string;
  name: string;
  description: string;
  /** What the tenant sells, in a sentence or two; empty if unknown. */
  offer: string;
  phrases: string[];
  excludedPhrases: string[];
  competitors: string[];
  industries: string[];
  titles: string[];
  headcountRanges: { min: number; max: number | null }[];
  locations: string[];
  /** Authors whose posts are ignored, by the keys of {@link originOf}. */
  mutedAuthors: string[];
  mutedSources: string[];
  /** Types of signals to create; empty: all. */
  signalTypes: SignalType[];
  weights: Weights;
  thresholds: { hot: number; warm: number };
  active: boolean;
  createdAt: number;
  updatedAt: number;
  /** Incremented by each change, for optimistic locking. */
  version: number;
}

export const DEFAULT_THRESHOLDS = { hot: 70, warm: 40 } as const;

/** The profile that each new tenant starts with: it fits any company and scores general buying intent. */
export function defaultProfile(id: string, tenantId: string, createdAt: number): IcpProfile {
  return {
    id,
    tenantId,
    name: 'Default',
    description: 'Fits any company and scores general buying intent.',
    offer: '',
    phrases: [],
    excludedPhrases: [],
    competitors: [],
    industries: [],
    titles: [],
    headcountRanges: [],
    locations: [],
    mutedAuthors: [],
    mutedSources: [],
    signalTypes: [],
    weights: { ...DEFAULT_WEIGHTS },
    thresholds: { ...DEFAULT_THRESHOLDS },
    active: true,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  };
}

/**
 * Maximum number of phrases of one kind. With the maximum number of profiles, matching still takes
 * milliseconds.
 */
const MAX_PHRASES = 200;
const MAX_TERMS = 100;
const MAX_RANGES = 20;
const MAX_HEADCOUNT = 10_000_000;

const nameSchema = requiredLine(100).describe('Name of the profile, unique within the account.');
/** `offer` of a profile: what the tenant sells. */
export const offerSchema = z.string().trim().max(1_000);
const descriptionSchema = z
  .string()
  .trim()
  .max(2_000)
  .describe('Description of the profile for your own use; it does not affect scoring.');
const termSchema = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => /[\p{L}\p{N}]/u.test(text), 'must contain a letter or a digit');

function termsSchema(max: number) {
  return z.array(termSchema).max(max).transform(withoutRepetitions);
}

/** Removes terms that match the same text as an earlier one. */
function withoutRepetitions(terms: readonly string[]): string[] {
  const seen = new Set<string>();
  return terms.filter((term) => seen.size < seen.add(fold(term)).size);
}

const mutedSchema = z
  .array(z.string().trim().toLowerCase().min(1).max(253))
  .max(MAX_TERMS)
  .transform((list) => [...new Set(list)]);

const MIN_HEADCOUNT_MEANING = 'Minimum number of employees.';
const MAX_HEADCOUNT_MEANING = 'Maximum number of employees; `null` for no maximum.';
const countSchema = z.int().min(0).max(MAX_HEADCOUNT);
const rangeSchema = z
  .union([
    z.strictObject({
      min: countSchema.describe(MIN_HEADCOUNT_MEANING),
      max: countSchema.nullable().default(null).describe(MAX_HEADCOUNT_MEANING),
    }),
    z
      .string()
      .max(40)
      .regex(/^\s*\d{1,8}\s*(?:[-–]\s*\d{1,8}|\+)?\s*$/, 'must be a range such as "11-50" or "201+"')
      .transform(toRange),
  ])
  .refine(({ min, max }) => max === null || max >= min, 'must have a maximum no lower than its minimum');

function toRange(text: string): { min: number; max: number | null } {
  const [min = 0, max] = (text.match(/\d+/g) ?? []).map(Number);
  return { min, max: max ?? (text.includes('+') ? null : min) };
}

const WEIGHT_MEANINGS: Record<WeightKey, string> = {
  intent: 'Weight of the intent to buy.',
  topic: "Weight of the match with the profile's offer, phrases and competitors.",
  urgency: 'Weight of a deadline.',
  budget: 'Weight of a stated budget.',
  pain: 'Weight of a described problem.',
  fit: 'Weight of how well author and company fit the profile.',
};
function weightFields<S extends z.ZodType>(schema: S): Record<WeightKey, S> {
  return Object.fromEntries(WEIGHT_KEYS.map((key) => [key, schema.describe(WEIGHT_MEANINGS[key])])) as Record<
    WeightKey,
    S
  >;
}
const weightsSchema = z.strictObject(weightFields(z.number().min(0).max(100).optional()));

const thresholdsSchema = z.strictObject({
  hot: z.int().min(1).max(100).optional().describe('Lowest score that is classified `hot`, 70 by default.'),
  warm: z.int().min(0).max(99).optional().describe('Lowest score that is classified `warm`, 40 by default.'),
});

const settings = {
  description: descriptionSchema.optional(),
  offer: offerSchema
    .optional()
    .describe('What you sell, in a sentence or two. Posts are matched with it by meaning.'),
  phrases: termsSchema(MAX_PHRASES)
    .optional()
    .describe('Words and phrases that indicate that a post is on topic.'),
  excluded_phrases: termsSchema(MAX_PHRASES)
    .optional()
    .describe('Words and phrases that count against a post.'),
  competitors: termsSchema(MAX_TERMS)
    .optional()
    .describe('Names of competitors. They put a post on topic, and count against posts by their own staff.'),
  industries: termsSchema(MAX_TERMS).optional().describe('Target industries. Empty: any.'),
  titles: termsSchema(MAX_TERMS).optional().describe('Target job titles. Empty: any.'),
  headcount_ranges: z
    .array(rangeSchema)
    .max(MAX_RANGES)
    .optional()
    .describe('Target company sizes, as objects or as text such as `11-50` or `201+`. Empty: any.'),
  locations: termsSchema(MAX_TERMS).optional().describe('Target locations. Empty: any.'),
  muted_authors: mutedSchema
    .optional()
    .describe('Authors whose posts are ignored, by the keys in suggestions. Names are not stored.'),
  muted_sources: mutedSchema
    .optional()
    .describe('Sites and platforms whose posts are ignored, such as `forum.example.com` or `reddit`.'),
  signal_types: z
    .array(signalTypeSchema)
    .max(SIGNAL_TYPES.length)
    .transform((types) => [...new Set(types)])
    .optional()
    .describe('Types of signals to create. Empty: all.'),
  weights: weightsSchema
    .optional()
    .describe('Relative weights of the kinds of reasons: 100 points are divided among them.'),
  thresholds: thresholdsSchema
    .optional()
    .describe('Scores from which a signal is `hot` or `warm`. `warm` must be lower than `hot`.'),
  active: z
    .boolean()
    .optional()
    .describe('Whether new posts are matched with the profile. `true` by default.'),
};

/** Body of `POST /v1/icps`. */
export const icpInputSchema = z.strictObject({ name: nameSchema, ...settings });
export type IcpInput = z.output<typeof icpInputSchema>;

/**
 * Body of `PATCH /v1/icps/{id}`: omitted members stay as they are, including those within weights and
 * thresholds.
 */
export const icpPatchSchema = z.strictObject({ name: nameSchema.optional(), ...settings });
export type IcpPatch = z.output<typeof icpPatchSchema>;

/** A profile as returned by every API. */
export const icpSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the profile.'),
    name: z.string().describe('Name of the profile, unique within the account.'),
    description: z.string().describe('Description for your own use; it does not affect scoring.'),
    offer: z.string().describe('What you sell. Posts are matched with it by meaning; empty if not set.'),
    phrases: z.array(z.string()).describe('Words and phrases that indicate that a post is on topic.'),
    excluded_phrases: z.array(z.string()).describe('Words and phrases that count against a post.'),
    competitors: z
      .array(z.string())
      .describe(
        'Names of competitors. They put a post on topic, and count against posts by their own staff.',
      ),
    industries: z.array(z.string()).describe('Target industries. Empty: any.'),
    titles: z.array(z.string()).describe('Target job titles. Empty: any.'),
    headcount_ranges: z
      .array(
        z.strictObject({
          min: z.int().describe(MIN_HEADCOUNT_MEANING),
          max: z.int().nullable().describe(MAX_HEADCOUNT_MEANING),
        }),
      )
      .describe('Target company sizes. Empty: any.'),
    locations: z.array(z.string()).describe('Target locations. Empty: any.'),
    muted_authors: z
      .array(z.string())
      .optional()
      .describe('Keys of authors whose posts are ignored. Omitted if there are none.'),
    muted_sources: z
      .array(z.string())
      .optional()
      .describe('Sites and platforms whose posts are ignored. Omitted if there are none.'),
    signal_types: z.array(signalTypeSchema).describe('Types of signals to create. Empty: all.'),
    weights: z
      .strictObject(weightFields(z.number().min(0).max(100)))
      .describe('Relative weights of the kinds of reasons: 100 points are divided among them.'),
    thresholds: z
      .strictObject({
        hot: z.int().describe('Lowest score that is classified `hot`.'),
        warm: z.int().describe('Lowest score that is classified `warm`.'),
      })
      .describe('Scores from which a signal is `hot` or `warm`.'),
    active: z.boolean().describe('Whether new posts are matched with the profile.'),
    created_at: z.iso.datetime().describe('When the profile was created.'),
    updated_at: z.iso.datetime().describe('When the profile was last changed.'),
  })
  .meta({
    id: 'IcpProfile',
    description: 'An Ideal Customer Profile, which posts are matched with. Empty lists match everything.',
  });
export type IcpResource = z.output<typeof icpSchema>;

export function icpResource(profile: IcpProfile): IcpResource {
  return {
    id: profile.id,
    name: profile.name,
    description: profile.description,
    offer: profile.offer,
    phrases: profile.phrases,
    excluded_phrases: profile.excludedPhrases,
    competitors: profile.competitors,
    industries: profile.industries,
    titles: profile.titles,
    headcount_ranges: profile.headcountRanges,
    locations: profile.locations,
    ...(profile.mutedAuthors.length > 0 && { muted_authors: profile.mutedAuthors }),
    ...(profile.mutedSources.length > 0 && { muted_sources: profile.mutedSources }),
    signal_types: profile.signalTypes,
    weights: profile.weights,
    thresholds: profile.thresholds,
    active: profile.active,
    created_at: toIso(profile.createdAt),
    updated_at: toIso(profile.updatedAt),
  };
}

/** Replaces the members of `profile` that are in `patch`. */
export function patchProfile(profile: IcpProfile, patch: IcpPatch): IcpProfile {
  return {
    ...profile,
    name: patch.name ?? profile.name,
    description: patch.description ?? profile.description,
    offer: patch.offer ?? profile.offer,
    phrases: patch.phrases ?? profile.phrases,
    excludedPhrases: patch.excluded_phrases ?? profile.excludedPhrases,
    competitors: patch.competitors ?? profile.competitors,
    industries: patch.industries ?? profile.industries,
    titles: patch.titles ?? profile.titles,
    headcountRanges: patch.headcount_ranges ?? profile.headcountRanges,
    locations: patch.locations ?? profile.locations,
    mutedAuthors: patch.muted_authors ?? profile.mutedAuthors,
    mutedSources: patch.muted_sources ?? profile.mutedSources,
    signalTypes: patch.signal_types ?? profile.signalTypes,
    weights: { ...profile.weights, ...given(patch.weights) },
    thresholds: { ...profile.thresholds, ...given(patch.thresholds) },
    active: patch.active ?? profile.active,
  };
}

function given<T extends object>(members: T | undefined): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(members ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
