import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ContentError, type ContentFault, linesOf, type PositionOf, readJson } from './page-file.ts';

/** A colour as red, green and blue from 0 to 255. */
type Rgb = readonly [number, number, number];

/** The accent if `site.json` sets none. */
export const DEFAULT_ACCENT = '#9a4708';

/** WCAG 2.2, success criterion 1.4.3: the minimum contrast of text with its background. */
const LEAST_CONTRAST = 4.5;
/** The contrast of text in the dark scheme: at night, a colour that only just passes is tiring to read. */
const DARK_CONTRAST = 7;
/** Success criterion 1.4.11: lines and marks that are not text. */
const MARK_CONTRAST = 3;

/** The backgrounds of http/styles/palette.css with the least contrast to the accent. */
const LIGHT_GROUND = '#f2efe8';
const DARK_GROUND = '#18222c';
/** Header strip and footer, dark in both schemes. */
const DEEP_GROUND = '#14293d';

/** What is wrong with `accent`, with a suitable colour of the same hue; null if it passes. */
export function accentFault(accent: string): string | null {
  const least = contrast(accent, LIGHT_GROUND);
  if (least >= LEAST_CONTRAST) return null;
  const instead = shade(accent, -1, (colour) => contrast(colour, LIGHT_GROUND) >= LEAST_CONTRAST);
  return `${accent} has a contrast of only ${least.toFixed(1)} : 1 with the site's light ground; links and buttons need ${LEAST_CONTRAST} : 1. ${instead} is the same colour, dark enough.`;
}

/** The custom properties that follow from the accent, for both schemes. */
export function accentStyles(accent: string): string {
  const mark = shade(accent, 1, (colour) => contrast(colour, LIGHT_GROUND) <= MARK_CONTRAST + 0.3);
  const dark = shade(accent, 1, (colour) => contrast(colour, DARK_GROUND) >= DARK_CONTRAST);
  const properties = (values: Record<string, string>) =>
    Object.entries(values)
      .map(([name, value]) => `  --${name}: ${value};\n`)
      .join('');
  const light = properties({
    accent,
    'accent-hover': toHex(lighten(accent, -0.08)),
    'on-accent': '#ffffff',
    'accent-mark': mark,
    'on-deep-link': shade(accent, 1, (colour) => contrast(colour, DEEP_GROUND) >= DARK_CONTRAST),
  });
  const night = properties({
    accent: dark,
    'accent-hover': toHex(lighten(dark, 0.08)),
    'on-accent': '#10171e',
    'accent-mark': shade(accent, 1, (colour) => contrast(colour, DARK_GROUND) >= MARK_CONTRAST + 1),
  });
  return `:root {\n${light}}\n\n@media (prefers-color-scheme: dark) {\n:root {\n${night}}\n}\n`;
}

/** WCAG 2.2, "contrast ratio": 1 to 21. */
export function contrast(a: string, b: string): number {
  const [darker = 0, lighter = 0] = [luminance(parse(a)), luminance(parse(b))].sort((x, y) => x - y);
  return (lighter + 0.05) / (darker + 0.05);
}

/** The first colour of the same hue, in steps of 1 % lighter (1) or darker (-1), that is `enough`. */
function shade(colour: string, direction: 1 | -1, enough: (colour: string) => boolean): string {
  for (let step = 0; step <= 100; step++) {
    const candidate = step === 0 ? colour : toHex(lighten(colour, (direction * step) / 100));
    if (enough(candidate)) return candidate;
  }
  return direction === 1 ? '#ffffff' : '#000000';
}

/** The colour with a different HSL lightness; hue and saturation are kept. */
function lighten(colour: string, change: number): Rgb {
  const [red, green, blue] = parse(colour).map((part) => part / 255) as unknown as Rgb;
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  const lightness = (most + least) / 2;
  const spread = most - least;
  const saturation = spread === 0 ? 0 : spread / (1 - Math.abs(2 * lightness - 1));
  const wanted = Math.min(1, Math.max(0, lightness + change));
  const reach = saturation * (1 - Math.abs(2 * wanted - 1));
  // Each channel keeps its relative position between minimum and maximum, which defines the hue.
  const place = (part: number) => (spread === 0 ? 0 : (part - least) / spread);
  const moved = (part: number) => Math.round(255 * (wanted - reach / 2 + reach * place(part)));
  return [moved(red), moved(green), moved(blue)];
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function parse(hex: string): Rgb {
  const number = Number.parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function toHex(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

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

/**
 * `site.json`: the identity of the business. Every page, document and response that names the business reads it from
 * here.
 */
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

/** The business that the site belongs to. */
export type SiteIdentity = z.output<typeof siteIdentitySchema>;

/** The identity, with the position of each field for faults found later. */
export interface LocatedIdentity {
  file: string;
  identity: SiteIdentity;
  placeOf: PositionOf;
}

/** Reads and validates `site.json`. @throws ContentError */
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

const OPERATIONS_MARK = /\{\{ ?operations:([^}]*)\}\}/g;

/** `{{operations: Leads, Pipeline}}`: a placeholder for the operations of the signal API with these tags. */
export interface OperationsMark {
  /** The mark as written. */
  text: string;
  /** The names between the commas, including unknown tags. */
  tags: readonly string[];
  /** The number of lines above it in the body. */
  linesAbove: number;
}

/** The marks of a page's body, in order. */
export function operationsMarks(body: string): OperationsMark[] {
  const lines = linesOf(body);
  return [...body.matchAll(OPERATIONS_MARK)].map(({ 0: text, 1: tags = '', index }) => ({
    text,
    tags: tags.split(',').map((tag) => tag.trim()),
    linesAbove: lines.linePos(index).line - 1,
  }));
}

const PLACEHOLDER = /\{\{ ?([a-z_]+) ?\}\}/g;

/** The values of placeholders such as `{{phone}}`, so that a number or an address is defined only in `site.json`. */
export function placeholderValues(identity: SiteIdentity, baseUrl: string): ReadonlyMap<string, string> {
  const { name, email, phone, address } = identity;
  return new Map([
    ['name', name],
    ['email', email],
    ['phone', phone],
    ['phone_link', phoneLink(phone)],
    ['address', `${address.street}, ${address.town}, ${address.region} ${address.postcode}`],
    ['town', address.town],
    ['base_url', baseUrl],
    ['host', new URL(baseUrl).hostname],
  ]);
}

/** The `tel:` URL of `phone`. */
export function phoneLink(phone: string): string {
  return `tel:${phone.replace(/[^\d+]/g, '')}`;
}

/** `body` with its placeholders filled in; an unknown placeholder is a fault with its line. */
export function fillPlaceholders(
  { file, body, bodyLine }: { file: string; body: string; bodyLine: number },
  values: ReadonlyMap<string, string>,
  faults: ContentFault[],
): string {
  const lines = linesOf(body);
  const known = [...values.keys()].join(', ');
  return body.replace(PLACEHOLDER, (whole, name: string, offset: number) => {
    const value = values.get(name);
    if (value !== undefined) return value;
    const line = bodyLine + lines.linePos(offset).line - 1;
    faults.push({ file, line, detail: `There is no placeholder "${whole}"; known are ${known}.` });
    return whole;
  });
}
