import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { accentFault, DEFAULT_ACCENT } from './accent.ts';
import { ContentError } from './content-error.ts';
import { type PlaceOf, readJson } from './located.ts';

const text = (max: number) => z.string().trim().min(1, 'must not be empty').max(max);
const sitePath = z.string().regex(/^\/[^\s]*$/, 'must be a path of this site, such as "/contact"');
const link = z.strictObject({ label: text(40), path: sitePath });
const accent = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as "#9a4708"')
  .superRefine((colour, context) => {
    const message = accentFault(colour);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as "07:30"');

/** What `site.json` says: who the business is. Every page, document and answer that names it reads it from here. */
const siteIdentitySchema = z.strictObject({
  name: text(60).describe('Name of the business'),
  description: text(300).describe('What it does and where, in one or two sentences'),
  lang: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Z]{2})?$/, 'must be a language such as "en-GB"')
    .default('en'),
  email: z.email(),
  phone: text(30),
  address: z.strictObject({
    street: text(100),
    town: text(60),
    region: text(60),
    postcode: text(12),
    country: z.string().regex(/^[A-Z]{2}$/, 'must be a country code such as "GB"'),
  }),
  businessType: z
    .string()
    .regex(/^[A-Z][A-Za-z]+$/, 'must be a type of schema.org such as "Electrician"')
    .default('LocalBusiness'),
  priceRange: text(20).optional(),
  areaServed: z.array(text(60)).default([]),
  openingHours: z
    .array(z.strictObject({ days: z.array(z.enum(DAYS)).min(1), opens: timeOfDay, closes: timeOfDay }))
    .default([]),
  notice: text(90).optional().describe('One line above the header of every page'),
  navigation: z.array(link).min(1).max(8).describe('Links in the header'),
  action: link.optional().describe('The button in the header'),
  accent: accent
    .default(DEFAULT_ACCENT)
    .describe('Colour of links, buttons and lines; the dark scheme has a lighter one made from it'),
  icon: z.string().optional().describe('File in assets/ for browser tabs and the header'),
  shareImage: z.string().optional().describe('File in assets/ shown where a link is shared, 1200 × 630'),
  sections: z
    .array(text(40))
    .min(1)
    .default(['Pages', 'Developers', 'Optional'])
    .describe('Headings that pages stand under in lists for agents, in order'),
  contentSignals: z
    .strictObject({ search: z.boolean(), aiInput: z.boolean(), aiTrain: z.boolean() })
    .default({ search: true, aiInput: true, aiTrain: false })
    .describe('What robots.txt lets others use the pages for'),
});

/** The business that the site is for. */
export type SiteIdentity = z.output<typeof siteIdentitySchema>;

/** The identity, and the place of each of its fields for faults found later. */
export interface LocatedIdentity {
  file: string;
  identity: SiteIdentity;
  placeOf: PlaceOf;
}

/** Reads and checks `site.json`. @throws ContentError */
export async function loadIdentity(contentDir: string): Promise<LocatedIdentity> {
  const file = join(contentDir, 'site.json');
  const source = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const detail = `It cannot be read (${error.code}). CONTENT_DIR must name a folder with site.json and pages.`;
    throw new ContentError([{ file, line: 1, detail }]);
  });
  const result = readJson({ file, text: source.replace(/^\uFEFF/, '') }, siteIdentitySchema);
  if (!result.ok) throw new ContentError(result.faults);
  return { file, identity: result.value, placeOf: result.placeOf };
}
