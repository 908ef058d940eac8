import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { parse } from 'csv-parse';
import { check } from '../http/faults.ts';
import { canonicalJson, measureJson } from '../lib/json.ts';
import { linesOf, printableLine } from '../lib/text.ts';
import type { Fault } from '../model/errors.ts';
import { type ObservedPost, observedPostSchema } from '../model/signal.ts';
import { CommandError, EXIT, type Opened, type Ports, withStorage } from './ports.ts';

/** Rows per one or two commits; an interruption waits for that many. */
const BATCH_ROWS = 100;
const MAX_SHOWN = 20;
const BAR_CELLS = 24;
/** How long the batch of a killed process stays reserved. */
const KILLED_SECONDS = 30;

interface Options {
  tenant?: string;
  dryRun?: true;
  json?: true;
}

/** `import FILE`: imports posts or signals from a file, like the API. */
export function addImport(parent: Command, ports: Ports): void {
  parent
    .command('import')
    .argument('<file>', 'JSON Lines, a post or a signal each; or CSV, where the name ends in .csv')
    .description(
      'import posts or signals from a file; run it again to resume. Exit code 0: all were imported, 1: some were rejected',
    )
    .option('--tenant <id>', 'tenant they belong to; may be omitted if there is only one')
    .option('--dry-run', 'check every row and store nothing')
    .option('--json', 'the counts as a JSON object on stdout')
    .action((file: string, options: Options) =>
      withStorage(
        ports,
        async (opened) => {
          const tenantId = await chooseTenant(opened, options.tenant);
          await runImport(ports, { opened, file, tenantId, options });
        },
        { takesPosts: true },
      ),
    );
}

async function chooseTenant({ store }: Opened, wanted: string | undefined): Promise<string> {
  const tenants = await store.listTenants();
  if (wanted !== undefined) {
    if (tenants.some(({ id }) => id === wanted)) return wanted;
    throw new CommandError(`There is no tenant "${wanted}". See: signalpost tenant list`);
  }
  const [only, ...others] = tenants;
  if (only !== undefined && others.length === 0) return only.id;
  const way =
    only === undefined ? 'Create one with: tenant create' : 'Choose one with --tenant. See: tenant list';
  throw new CommandError(`There are ${tenants.length} tenants. ${way}`, EXIT.usage);
}

/** The result of a whole file. */
interface ImportTotals {
  rows: number;
  created: number;
  duplicates: number;
  rejected: number;
}

interface ImportJob {
  opened: Opened;
  file: string;
  tenantId: string;
  options: Options;
}

async function runImport(ports: Ports, { opened, file, tenantId, options }: ImportJob): Promise<void> {
  const size = await fileSize(file);
  const totals: ImportTotals = { rows: 0, created: 0, duplicates: 0, rejected: 0 };
  let waiting: { line: number; post: ObservedPost }[] = [];
  let batches = 0;

  function reject(line: number, fault: string): void {
    totals.rejected++;
    if (totals.rejected <= MAX_SHOWN) ports.err(printableLine(`${file}:${line}: ${fault}`));
  }

  async function flush(bytes: number): Promise<void> {
    const posts = waiting.map(({ post }) => post);
    const done: BatchOutcome = options.dryRun
      ? { created: 0, duplicates: 0, rejected: [] }
      : await importBatch(opened, tenantId, { number: batches++, posts });
    totals.created += done.created;
    totals.duplicates += done.duplicates;
    for (const { index, fault } of done.rejected) reject(waiting[index]?.line ?? 0, fault);
    waiting = [];
    ports.progress?.(progressText(size === 0 ? 1 : Math.min(1, bytes / size), totals.rows));
  }

  let last = 0;
  for await (const row of rowsOf(file)) {
    totals.rows++;
    last = row.bytes;
    const read = row.value.ok ? readPost(row.value.item) : row.value;
    if (read.ok) waiting.push({ line: row.line, post: read.post });
    else reject(row.line, read.fault);
    if (waiting.length === BATCH_ROWS) await flush(row.bytes);
  }
  if (waiting.length > 0) await flush(last);
  ports.progress?.(null);
  tell(ports, totals, options);
}

async function fileSize(file: string): Promise<number> {
  const found = await stat(file).catch(() => null);
  if (found?.isFile()) return found.size;
  throw new CommandError(`There is no file "${file}".`, EXIT.usage);
}

/** Stops at a file that is not a table, with the line number. */
async function* rowsOf(file: string): AsyncIterable<ImportRow> {
  try {
    yield* readRows(file);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const why = error instanceof Error ? error.message : 'cannot be read';
    throw new CommandError(printableLine(`${file}: ${why}`));
  }
}

/** `[######------] 50 %, 1200 rows`. */
export function progressText(share: number, rows: number): string {
  const full = Math.floor(share * BAR_CELLS);
  const bar = '#'.repeat(full) + '-'.repeat(BAR_CELLS - full);
  return `[${bar}] ${Math.floor(share * 100)}%, ${rows} rows`;
}

function tell(ports: Ports, totals: ImportTotals, { dryRun, json }: Options): void {
  const { rows, created, duplicates, rejected } = totals;
  if (rejected > MAX_SHOWN) ports.err(`and ${rejected - MAX_SHOWN} more rejected rows`);
  if (json) ports.out(JSON.stringify({ ...totals, dry_run: dryRun === true }));
  else if (dryRun)
    ports.out(`${rows} rows: ${rows - rejected} can be read, ${rejected} cannot; nothing was stored.`);
  else ports.out(`${rows} rows: ${created} created, ${duplicates} duplicates, ${rejected} rejected.`);
  if (rejected > 0) ports.setExitCode(EXIT.failed);
}

/** The result of the rows of a batch. */
interface BatchOutcome {
  created: number;
  duplicates: number;
  /** Why rows were rejected after all, by index in the batch. */
  rejected: { index: number; fault: string }[];
}

const ROUTE = 'import';

/** Imports a batch under an idempotency key derived from its content, so that the same command continues after an interruption. */
async function importBatch(
  opened: Opened,
  tenantId: string,
  { number, posts }: { number: number; posts: readonly ObservedPost[] },
): Promise<BatchOutcome> {
  // Imported dynamically, because the scoring code is large and no other command needs it.
  const { observeOnce } = await import('../signals/intake.ts');
  const fingerprint = createHash('sha256').update(JSON.stringify(posts)).digest('hex');
  const kept = { tenantId, route: ROUTE, key: `${number}-${fingerprint}`, posts };
  const outcome = await observeOnce(opened, kept, (results): BatchOutcome => {
    const count = (status: string) => results.filter((result) => result.status === status).length;
    return {
      created: count('created'),
      duplicates: count('duplicate'),
      rejected: results.flatMap((result, index) =>
        result.status === 'rejected' ? [{ index, fault: faultText(result.errors) }] : [],
      ),
    };
  });
  if (outcome === null)
    throw new CommandError(
      'This file is being imported by another process, or was until a moment ago. If that process was killed, run this command ' +
        `again in ${KILLED_SECONDS} s: it continues where the other one stopped.`,
    );
  return outcome;
}

/** Members of a signal that are not part of its post: they are recomputed on import. */
const MADE_OF_IT = new Set([
  ...['signal_id', 'classification', 'icp_score', 'timestamp', 'icp_profile_name', 'profile_url'],
  ...['icp_profile_id', 'lead_id', 'also_seen', 'explanation', 'excerpt', 'signature'],
]);

/** A row as a post, or its errors. */
type ParsedRow = { ok: true; post: ObservedPost } | { ok: false; fault: string };

/**
 * A post, or a signal as in the API, which is reduced to its post. A post without an origin gets an external ID
 * derived from its content, so that repeated imports store it only once.
 */
function readPost(item: unknown): ParsedRow {
  if (!isObject(item)) {
    return { ok: false, fault: 'is no object: each row is a post, or a signal as the API shows it.' };
  }
  const checked = check(observedPostSchema, 'signal_id' in item ? postOf(item) : item, 'body');
  if (!checked.ok) return { ok: false, fault: faultText(checked.faults, checked.total) };
  const post = checked.value;
  const isKnownAgain = post.external_id !== undefined || (post.platform.post_url ?? '') !== '';
  return { ok: true, post: isKnownAgain ? post : { ...post, external_id: contentId(post) } };
}

/** The errors of a row in one line, in the wording of the API, each after its field: `prospect.email`. */
function faultText(faults: readonly Fault[], total = faults.length): string {
  const shown = faults.map(
    ({ pointer = '', detail }) => `${pointer.slice(1).replaceAll('/', '.')}: ${detail}`,
  );
  return [...shown, ...(total > faults.length ? [`and ${total - faults.length} more faults`] : [])].join(' ');
}

function isObject(item: unknown): item is Record<string, unknown> {
  return typeof item === 'object' && item !== null && !Array.isArray(item);
}

function postOf(signal: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(signal).filter(([name, value]) => !MADE_OF_IT.has(name) && value !== null);
  return { text: signal.excerpt, ...Object.fromEntries(own) };
}

function contentId(post: ObservedPost): string {
  return `import-${createHash('sha256').update(canonicalJson(post)).digest('hex').slice(0, 32)}`;
}

/** An item of a file, or why it could not be read. */
interface ImportRow {
  /** Its first line in the file, from 1. */
  line: number;
  /** Approximate number of bytes read so far. */
  bytes: number;
  value: { ok: true; item: unknown } | { ok: false; fault: string };
}

/** Longer lines are reported and skipped: a post has at most 20,000 characters. */
const MAX_LINE_CHARACTERS = 256 * 1024;
/** As for a body of `/v1`. */
const MAX_DEPTH = 32;
/** A signal as the API shows it has about a hundred. */
const MAX_VALUES = 10_000;
/** A post has about thirty columns. Each one costs time for every row, even if its cell is empty. */
const MAX_COLUMNS = 1_000;

/** The rows of a file, one at a time: JSON Lines, or CSV according to the name. Rejects if it cannot be read. */
function readRows(file: string): AsyncIterable<ImportRow> {
  return /\.csv$/i.test(file) ? csvRows(file) : jsonLines(file);
}

async function* jsonLines(file: string): AsyncIterable<ImportRow> {
  const stream = createReadStream(file, 'utf8');
  let line = 0;
  for await (const text of linesOf(stream, MAX_LINE_CHARACTERS)) {
    line++;
    const trimmed = text.replace(/^\uFEFF/, '').trim();
    if (trimmed !== '') yield { line, bytes: stream.bytesRead, value: parseLine(trimmed) };
  }
}

function parseLine(text: string): ImportRow['value'] {
  if (text.length > MAX_LINE_CHARACTERS) {
    return { ok: false, fault: `has more than ${MAX_LINE_CHARACTERS} characters` };
  }
  const { depth, values } = measureJson(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return { ok: false, fault: `is nested deeper than ${MAX_DEPTH} levels` };
  if (values > MAX_VALUES) return { ok: false, fault: `has more than ${MAX_VALUES} values` };
  try {
    return { ok: true, item: JSON.parse(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    return { ok: false, fault: `is no JSON: ${why}` };
  }
}

interface CsvRecord {
  record: Record<string, string>;
  info: { lines: number; error?: { message: string } };
}

/** The first row names the columns: members of a post, joined with `.` or `_`. Empty cells are ignored. */
async function* csvRows(file: string): AsyncIterable<ImportRow> {
  const stream = createReadStream(file);
  const parser = parse({
    bom: true,
    columns: columnNames,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_LINE_CHARACTERS,
  });
  stream.on('error', (error) => parser.destroy(error));
  let line = 2;
  for await (const { record, info } of stream.pipe(parser) as AsyncIterable<CsvRecord>) {
    const fault = info.error === undefined ? null : `is no row of this table: ${info.error.message}`;
    const value =
      fault === null ? ({ ok: true, item: nested(record) } as const) : ({ ok: false, fault } as const);
    yield { line, bytes: stream.bytesRead, value };
    line = info.lines + 1;
  }
}

function columnNames(names: string[]): string[] {
  if (names.length > MAX_COLUMNS)
    throw new Error(`has ${names.length} columns: at most ${MAX_COLUMNS} are read.`);
  return names.map((name) => name.trim().toLowerCase());
}

const GROUPS = ['platform', 'prospect', 'company'] as const;
/** Column names that are accepted without their group. */
const OTHER_NAMES = new Map([
  ['platform', 'platform.name'],
  ['post_url', 'platform.post_url'],
  ['url', 'platform.post_url'],
  ['posted_at', 'platform.posted_at'],
]);

/** Uses maps, because a column may be called `__proto__`. */
function nested(record: Record<string, string>): Record<string, unknown> {
  const item = new Map<string, unknown>();
  const groups = new Map<string, Map<string, string>>();
  for (const [column, cell] of Object.entries(record)) {
    if (cell.trim() === '') continue;
    const name = OTHER_NAMES.get(column) ?? column;
    const group = GROUPS.find((one) => name.startsWith(`${one}.`) || name.startsWith(`${one}_`));
    if (group === undefined) {
      item.set(name, cell);
      continue;
    }
    const members = groups.get(group) ?? new Map<string, string>();
    groups.set(group, members.set(name.slice(group.length + 1), cell));
  }
  for (const [group, members] of groups) item.set(group, Object.fromEntries(members));
  return Object.fromEntries(item);
}
