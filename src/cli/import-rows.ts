import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { measureJson } from '../lib/json.ts';

/** One thing of a file, or why it could not be read. */
export interface ImportRow {
  /** Where it begins in the file, from 1. */
  line: number;
  /** Bytes read so far, about. */
  bytes: number;
  value: { ok: true; item: unknown } | { ok: false; fault: string };
}

/** Longer lines are reported and skipped: a post has at most 20,000 characters. */
const MAX_LINE_CHARACTERS = 256 * 1024;
/** As of a body of `/v1`. */
const MAX_DEPTH = 32;
/** A signal as the API shows it has some hundred. */
const MAX_VALUES = 10_000;

/** The rows of a file, one at a time: JSON Lines, or CSV where the name ends so. Rejects where it cannot be read. */
export function readRows(file: string): AsyncIterable<ImportRow> {
  return /\.csv$/i.test(file) ? csvRows(file) : jsonLines(file);
}

async function* jsonLines(file: string): AsyncIterable<ImportRow> {
  const stream = createReadStream(file, 'utf8');
  let line = 0;
  for await (const text of linesOf(stream)) {
    line++;
    const trimmed = text.replace(/^\uFEFF/, '').trim();
    if (trimmed !== '') yield { line, bytes: stream.bytesRead, value: parseLine(trimmed) };
  }
}

/** The lines of a text, each cut where it is longer than any that is read: one may be as long as the file. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncIterable<string> {
  let line = '';
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      yield line + chunk.slice(from, Math.min(end, from + MAX_LINE_CHARACTERS + 1));
      line = '';
      from = end + 1;
    }
    if (line.length <= MAX_LINE_CHARACTERS) line += chunk.slice(from);
  }
  if (line !== '') yield line;
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

/** The first row names the columns: members of a post, joined with `.` or `_`. An empty cell says nothing. */
async function* csvRows(file: string): AsyncIterable<ImportRow> {
  const stream = createReadStream(file);
  const parser = parse({
    bom: true,
    columns: (names: string[]) => names.map((name) => name.trim().toLowerCase()),
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

const GROUPS = ['platform', 'prospect', 'company'] as const;
/** Columns that people name without their group. */
const OTHER_NAMES = new Map([
  ['platform', 'platform.name'],
  ['post_url', 'platform.post_url'],
  ['url', 'platform.post_url'],
  ['posted_at', 'platform.posted_at'],
]);

/** Made of maps, as a column may be called `__proto__`. */
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
