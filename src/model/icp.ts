import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { fold } from '../lib/text.ts';
import { DEFAULT_WEIGHTS } from './constants.ts';
import { SIGNAL_TYPES, type SignalType, signalTypeSchema } from './signal.ts';
import { requiredLine } from './text.ts';

export const WEIGHT_KEYS = ['intent', 'topic', 'urgency', 'budget', 'pain', 'fit'] as const;
export type WeightKey = (typeof WEIGHT_KEYS)[number];

/** How much each kind of reason counts, relative to the others; what they share out is always 100 points. */
export type Weights = Record<WeightKey, number>;

/** An Ideal Customer Profile: what a tenant looks for. Empty lists ask nothing. Times are Unix milliseconds. */
export interface IcpProfile {
  id: string;
  tenantId: string;
  name: string;
  description: string;
  /** What the tenant sells, in a sentence or two; empty: not said. */
  offer: string;
  phrases: string[];
  excludedPhrases: string[];
  competitors: string[];
  industries: string[];
  titles: string[];
  headcountRanges: { min: number; max: number | null }[];
  locations: string[];
  /** Who posts what is never wanted, as {@link originOf} names them. */
  mutedAuthors: string[];
  mutedSources: string[];
  /** The types of signals that count; empty: all. */
  signalTypes: SignalType[];
  weights: Weights;
  thresholds: { hot: number; warm: number };
  active: boolean;
  createdAt: number;
  updatedAt: number;
  /** Grows with each change: a change applies only to the version it was decided on. */
  version: number;
}

export const DEFAULT_THRESHOLDS = { hot: 70, warm: 40 } as const;

/** The profile each new tenant starts with: fits any company, scores general buying intent. */
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

/** Phrases at most of one kind: with as many profiles as a tenant may have, matching still takes milliseconds. */
const MAX_PHRASES = 200;
const MAX_TERMS = 100;
const MAX_RANGES = 20;
const MAX_HEADCOUNT = 10_000_000;

const nameSchema = requiredLine(100);
/** What is sold, as `offer` of a profile. */
export const offerSchema = z.string().trim().max(1_000);
const descriptionSchema = z.string().trim().max(2_000).describe('For people; nothing is scored by it');
const termSchema = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => /[\p{L}\p{N}]/u.test(text), 'must hold a letter or a digit');

function termsSchema(max: number) {
  return z.array(termSchema).max(max).transform(withoutRepetitions);
}

/** Of terms that find the same, the first. */
function withoutRepetitions(terms: readonly string[]): string[] {
  const seen = new Set<string>();
  return terms.filter((term) => seen.size < seen.add(fold(term)).size);
}

const mutedSchema = z
  .array(z.string().trim().toLowerCase().min(1).max(253))
  .max(MAX_TERMS)
  .transform((list) => [...new Set(list)]);

const countSchema = z.int().min(0).max(MAX_HEADCOUNT);
const rangeSchema = z
  .union([
    z.strictObject({ min: countSchema, max: countSchema.nullable().default(null) }),
    z
      .string()
      .max(40)
      .regex(/^\s*\d{1,8}\s*(?:[-–]\s*\d{1,8}|\+)?\s*$/, 'must be a range such as "11-50" or "201+"')
      .transform(toRange),
  ])
  .refine(({ min, max }) => max === null || max >= min, 'must not end before it begins');

function toRange(text: string): { min: number; max: number | null } {
  const [min = 0, max] = (text.match(/\d+/g) ?? []).map(Number);
  return { min, max: max ?? (text.includes('+') ? null : min) };
}

const weight = z.number().min(0).max(100).optional();
const weightsSchema = z.strictObject({
  intent: weight.describe('Asks for something to buy'),
  topic: weight.describe('Is on the topic of the profile'),
  urgency: weight.describe('Mentions a deadline'),
  budget: weight.describe('Mentions a budget'),
  pain: weight.describe('Describes a problem'),
  fit: weight.describe('Author and company fit the audience'),
});

const thresholdsSchema = z.strictObject({
  hot: z.int().min(1).max(100).optional(),
  warm: z.int().min(0).max(99).optional(),
});

const settings = {
  description: descriptionSchema.optional(),
  offer: offerSchema
    .optional()
    .describe('What you sell, in a sentence or two: posts are matched with it by meaning'),
  phrases: termsSchema(MAX_PHRASES)
    .optional()
    .describe('Words and phrases that tell that a post is on topic'),
  excluded_phrases: termsSchema(MAX_PHRASES).optional().describe('Phrases that count against a post'),
  competitors: termsSchema(MAX_TERMS)
    .optional()
    .describe('Names that are on topic in a post, and that count against a post by one of their staff'),
  industries: termsSchema(MAX_TERMS).optional(),
  titles: termsSchema(MAX_TERMS).optional().describe('Job titles of buyers'),
  headcount_ranges: z
    .array(rangeSchema)
    .max(MAX_RANGES)
    .optional()
    .describe('Company sizes; text such as "11-50" or "201+" is taken too'),
  locations: termsSchema(MAX_TERMS).optional(),
  muted_authors: mutedSchema
    .optional()
    .describe('Authors whose posts count for nothing, by the keys that suggestions name; names are not kept'),
  muted_sources: mutedSchema
    .optional()
    .describe('Sites and platforms whose posts count for nothing, such as `forum.example.com` or `reddit`'),
  signal_types: z
    .array(signalTypeSchema)
    .max(SIGNAL_TYPES.length)
    .transform((types) => [...new Set(types)])
    .optional()
    .describe('Types of signals that count; empty: all types'),
  weights: weightsSchema
    .optional()
    .describe(
      'How much each kind of reason counts, relative to the others: 100 points are shared out by them',
    ),
  thresholds: thresholdsSchema
    .optional()
    .describe('Scores from which a signal is hot or warm; warm lies below hot'),
  active: z.boolean().optional().describe('Whether new posts are matched with it'),
};

/** Body of `POST /v1/icps`. */
export const icpInputSchema = z.strictObject({ name: nameSchema, ...settings });
export type IcpInput = z.output<typeof icpInputSchema>;

/** Body of `PATCH /v1/icps/{id}`: what is left out stays as it is, within weights and thresholds too. */
export const icpPatchSchema = z.strictObject({ name: nameSchema.optional(), ...settings });
export type IcpPatch = z.output<typeof icpPatchSchema>;

const points = z.number().min(0).max(100);
/** A profile on the wire. */
export const icpSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    offer: z.string(),
    phrases: z.array(z.string()),
    excluded_phrases: z.array(z.string()),
    competitors: z.array(z.string()),
    industries: z.array(z.string()),
    titles: z.array(z.string()),
    headcount_ranges: z.array(z.strictObject({ min: z.int(), max: z.int().nullable() })),
    locations: z.array(z.string()),
    muted_authors: z.array(z.string()).optional(),
    muted_sources: z.array(z.string()).optional(),
    signal_types: z.array(signalTypeSchema),
    weights: z.strictObject({
      intent: points,
      topic: points,
      urgency: points,
      budget: points,
      pain: points,
      fit: points,
    }),
    thresholds: z.strictObject({ hot: z.int(), warm: z.int() }),
    active: z.boolean(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'IcpProfile' });
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

/** `profile` with what `patch` names in place of what it had. */
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
