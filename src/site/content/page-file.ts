import { glob, readFile, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { z } from 'zod';
import { addAll } from '../../lib/lists.ts';
import type { ContentFault } from './content-error.ts';
import { type PlaceOf, readYaml } from './located.ts';

/** What stands between the two `---` lines at the head of a page file. */
const frontMatterSchema = z.strictObject({
  title: z.string().trim().min(1).max(60, 'must have at most 60 characters, as search results cut it'),
  /** Its name in menus and lists, where the title is too long for them. */
  label: z.string().trim().min(1).max(30).optional(),
  description: z
    .string()
    .trim()
    .min(50, 'must have 50 to 160 characters, as search results show it')
    .max(160, 'must have 50 to 160 characters, as search results show it'),
  section: z.string().default('Pages'),
  /** Place within its section; pages of the same place stand by address. */
  order: z.number().default(100),
  updated: z.iso.date('must be a date such as 2026-11-20').optional(),
  layout: z.enum(['article', 'landing', 'reference']).default('article'),
  path: z
    .string()
    .regex(
      /^\/([a-z0-9-]+(\/[a-z0-9-]+)*)?$/,
      'must be lower case words between slashes, such as "/our-work"',
    )
    .optional(),
});
export type FrontMatter = z.output<typeof frontMatterSchema>;

/** A page file as read: its front matter and its markdown, with the line that the markdown begins on. */
export interface PageFile {
  file: string;
  path: string;
  front: FrontMatter;
  placeOf: PlaceOf;
  body: string;
  bodyLine: number;
  /** Unix milliseconds: `updated` where the page says it, else when the file was written. */
  lastModified: number;
}

/**
 * Every page file under `contentDir`, and the addresses of those whose head cannot be read. Faults are gathered in `faults`,
 * so that all are reported at once.
 */
export async function readPageFiles(
  contentDir: string,
  faults: ContentFault[],
): Promise<{ files: PageFile[]; unread: string[] }> {
  const names: string[] = [];
  for await (const name of glob('**/*.md', { cwd: contentDir })) names.push(name);
  const pages = await Promise.all(names.sort().map((name) => readPageFile(contentDir, name, faults)));
  return {
    files: pages.filter((page) => page !== null),
    unread: names.filter((_, i) => pages[i] === null).map(pathOf),
  };
}

async function readPageFile(
  contentDir: string,
  name: string,
  faults: ContentFault[],
): Promise<PageFile | null> {
  const file = join(contentDir, name);
  const source = (await readFile(file, 'utf8')).replaceAll('\r\n', '\n').replace(/^\uFEFF/, '');
  const head = /^---\n(.*?)^---[ ]*(?:\n|$)/ms.exec(source);
  if (head === null || head.index !== 0) {
    const detail = 'It must begin with front matter: a line "---", title and description, a line "---".';
    faults.push({ file, line: 1, detail });
    return null;
  }
  const result = readYaml({ file, text: head[1] ?? '', firstLine: 2 }, frontMatterSchema);
  if (!result.ok) {
    addAll(faults, result.faults);
    return null;
  }
  const front = result.value;
  const lastModified =
    front.updated === undefined
      ? Math.trunc((await stat(file)).mtimeMs)
      : Date.parse(`${front.updated}T00:00:00Z`);
  return {
    file,
    path: front.path ?? pathOf(name),
    front,
    placeOf: result.placeOf,
    body: source.slice(head[0].length),
    bodyLine: head[0].split('\n').length,
    lastModified,
  };
}

/** `index.md` is its folder's page: `developers/index.md` stands at `/developers`. */
function pathOf(name: string): string {
  const path = `/${name.split(sep).join('/').replace(/\.md$/, '')}`;
  return path === '/index' ? '/' : path.replace(/\/index$/, '');
}
