import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parse } from 'csv-parse';

/** One thing of a file, or why it could not be read. */
export interface ImportRow {
  /** Where it begins in the file, from 1. */
  line: number;
  /** Bytes read so far, about. */
  bytes: number;
  value: { ok: true; item: unknown } | { ok: false; fault: string };
}

/** Longer lines are told of and not kept: a post has at most 20,000 characters. */
const MAX_LINE_CHARACTERS = 256 * 1024;

/** The rows of a file, one at a time: JSON Lines, or CSV where the name ends so. Rejects where it cannot be read. */
export function readRows(file: string): AsyncIterable<ImportRow> {
  return /\.csv$/i.test(file) ? csvRows(file) : jsonLines(file);
}

async function* jsonLines(file: string): AsyncIterable<ImportRow> {
  const stream = createReadStream(file, 'utf8');
  let line = 0;
  for await (const text of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    line++;
    const trimmed = text.replace(/^\uFEFF/, '').trim();
    if (trimmed !== '') yield { line, bytes: stream.bytesRead, value: parseLine(trimmed) };
  }
}

function parseLine(text: string): ImportRow['value'] {
  if (text.length > MAX_LINE_CHARACTERS) {
    return { ok: false, fault: `has more than ${MAX_LINE_CHARACTERS} characters` };
  }
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
const OTHER_NAMES: Record<string, string> = {
  platform: 'platform.name',
  post_url: 'platform.post_url',
  url: 'platform.post_url',
  posted_at: 'platform.posted_at',
};

function nested(record: Record<string, string>): Record<string, unknown> {
  const item: Record<string, unknown> = {};
  for (const [column, cell] of Object.entries(record)) {
    if (cell.trim() === '') continue;
    const name = OTHER_NAMES[column] ?? column;
    const group = GROUPS.find((one) => name.startsWith(`${one}.`) || name.startsWith(`${one}_`));
    if (group === undefined) item[name] = cell;
    else item[group] = { ...(item[group] as object), [name.slice(group.length + 1)]: cell };
  }
  return item;
}
