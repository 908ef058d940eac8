import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A labelled post. */
export interface Example {
  set: string;
  id: string;
  platform: string;
  /** The input of the product: title and text. */
  text: string;
  label: 'hot' | 'warm' | 'cold';
  kind: string;
  type: string;
  sure: boolean;
  /** Null: the profile `Default`. */
  profileId: string | null;
  facts: { title: string; companyName: string; industry: string; headcount: string; location: string };
}

interface Row {
  id: string;
  platform?: string;
  title?: string;
  text?: string;
  label?: Example['label'];
  /** For sellers' posts: general buying intent. */
  buying?: Example['label'];
  kind?: string;
  type?: string;
  sure?: boolean;
  note?: string;
  icp_id?: string;
  author_title?: string;
  company?: { name?: string; industry?: string; headcount?: number | string; location?: string };
  trial_found?: number;
}

/** Sets by the prefix of their file names; files of `general` contain only labels, and the posts are in other files. */
const SETS = ['general', 'stream', 'asks', 'real', 'tune'] as const;
/** Further posts by platform, if their mixture is different: bare titles, and adverts, nearly all of which are hot. */
const SETS_OF_FURTHER: Readonly<Record<string, string>> = { hackernews: 'titles', jobboard: 'jobs' };
/** Posts without labels in the folder, and the set of those that we labelled; the last file is assembled by you, see README. */
const FURTHER_FILES = {
  'posts/stream.jsonl': 'read',
  // Of its 24,000 posts, nearly all that a model scored 10 or higher were labelled.
  'posts/stream-2.jsonl': 'newer',
  'posts/further.jsonl': 'read',
} as const;
/** Posts that the authors of the data found least likely to be hot count as cold without having been read. */
const ASSUMED_COLD_BELOW = 0.03;
/** The percentage of those that is used. */
const ASSUMED_SHARE = 35;

/** Every labelled post of the folder. @throws if the folder differs from the description in its README */
export function loadExamples(folder: string): Example[] {
  const posts = new Map(readRows(join(folder, 'posts/posts.jsonl')).map((post) => [post.id, post]));
  const files = readdirSync(join(folder, 'labels')).filter((file) => file.endsWith('.jsonl'));
  const labelled = SETS.flatMap((set) =>
    files
      .filter((file) => file.startsWith(set))
      .flatMap((file) => readRows(join(folder, 'labels', file)))
      .map((row) => exampleOf(set, { ...posts.get(row.id), ...row })),
  );
  // Chosen because a model classified them as hot: hard cases, labelled by the folder's readers.
  const sellers = files
    .filter((file) => file.startsWith('sellers'))
    .flatMap((file) => readRows(join(folder, 'labels', file)))
    .map((row) => exampleOf('sellers', { ...row, label: row.buying ?? 'cold' }));
  return [...labelled, ...sellers];
}

/** Further posts of the folder: those that we labelled (by ID, with `?` after uncertain labels), and some that count as cold. */
export function loadFurther(folder: string, labels: Readonly<Record<string, string>>): Example[] {
  const further = Object.entries(FURTHER_FILES).flatMap(([name, set]) => {
    const file = join(folder, name);
    return existsSync(file) ? readRows(file).map((row) => ({ row, read: set })) : [];
  });
  return further.flatMap(({ row, read }) => {
    const [label, sure] = [labels[row.id]?.replace('?', ''), !labels[row.id]?.endsWith('?')];
    const set = SETS_OF_FURTHER[row.platform ?? ''] ?? read;
    if (label === 'consumer') return [exampleOf(set, { ...row, label: 'cold', kind: 'consumer' })];
    if (label !== undefined) return [exampleOf(set, { ...row, sure, label: label as Example['label'] })];
    const assumed = (row.trial_found ?? 1) < ASSUMED_COLD_BELOW && hash(row.id) % 100 < ASSUMED_SHARE;
    return assumed ? [exampleOf('assumed', { ...row, label: 'cold' })] : [];
  });
}

/** The distinct texts of all real posts of the folder. */
export function loadPosts(folder: string): Set<string> {
  const labelled = readdirSync(join(folder, 'labels')).filter((file) => file.endsWith('.jsonl'));
  const files = ['posts/posts.jsonl', 'posts/stream.jsonl', ...labelled.map((file) => `labels/${file}`)];
  const texts = files.flatMap((file) => readRows(join(folder, file)).map(textOf));
  return new Set(texts.filter((text) => text !== ''));
}

/** The profiles of the labelled sets, in the format of `POST /v1/icps`. */
export function loadProfiles(folder: string): Record<string, unknown>[] {
  return JSON.parse(readFileSync(join(folder, 'labels/icps.json'), 'utf8'));
}

function readRows(file: string): Row[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

function exampleOf(set: string, row: Row): Example {
  const { company = {} } = row;
  return {
    set,
    id: row.id,
    platform: row.platform ?? '',
    text: textOf(row),
    label: row.label ?? 'cold',
    kind: row.kind ?? '',
    type: row.type ?? '',
    sure: row.sure ?? !/borderline/.test(row.note ?? ''),
    profileId: row.icp_id === undefined || row.icp_id === 'icp-any-purchase' ? null : row.icp_id,
    facts: {
      title: row.author_title ?? '',
      companyName: company.name ?? '',
      industry: company.industry ?? '',
      headcount: String(company.headcount ?? ''),
      location: company.location ?? '',
    },
  };
}

export function textOf({ title = '', text = '' }: Row): string {
  const [head, body] = [title.trim(), text.trim()];
  if (body === '' || body.startsWith(head)) return body || head;
  return head === '' ? body : `${head}\n\n${body}`;
}

/** FNV-1a with a final mix: splits are the same on every machine, and independent of the order of the files. */
export function hash(text: string, seed = 0): number {
  let value = 2_166_136_261 ^ seed;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16_777_619);
  value ^= value >>> 15;
  value = Math.imul(value, 2_246_822_519);
  return (value ^ (value >>> 13)) >>> 0;
}
