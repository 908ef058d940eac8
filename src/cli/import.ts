import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { printableLine } from '../lib/printable.ts';
import type { ObservedPost } from '../model/signal.ts';
import { type BatchOutcome, importBatch } from './import-batch.ts';
import { readPost } from './import-posts.ts';
import { type ImportRow, readRows } from './import-rows.ts';
import { CommandError, EXIT, type Opened, type Ports, withStorage } from './ports.ts';

/** Rows taken in by one commit or two: what a person who stops it waits for. */
const BATCH_ROWS = 100;
const MAX_TOLD = 20;
const BAR_CELLS = 24;

interface Options {
  tenant?: string;
  dryRun?: true;
  json?: true;
}

/** `import FILE`: posts or signals of a file, by the use case of the API. */
export function addImport(parent: Command, ports: Ports): void {
  parent
    .command('import')
    .argument('<file>', 'JSON Lines, a post or a signal each; or CSV, where the name ends in .csv')
    .description(
      'take posts or signals of a file in; stopped half way, the same command goes on. Exit code 0: all came in, 1: some were rejected',
    )
    .option('--tenant <id>', 'whose they are; may be left out where there is one tenant')
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
  const way = only === undefined ? 'Make one with: tenant create' : 'Name it with --tenant; see: tenant list';
  throw new CommandError(`There are ${tenants.length} tenants. ${way}`, EXIT.usage);
}

/** What a whole file came to. */
interface Tally {
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
  const tally: Tally = { rows: 0, created: 0, duplicates: 0, rejected: 0 };
  let waiting: { line: number; post: ObservedPost }[] = [];
  let batches = 0;

  function reject(line: number, fault: string): void {
    tally.rejected++;
    if (tally.rejected <= MAX_TOLD) ports.err(printableLine(`${file}:${line}: ${fault}`));
  }

  async function flush(bytes: number): Promise<void> {
    const posts = waiting.map(({ post }) => post);
    const done: BatchOutcome = options.dryRun
      ? { created: 0, duplicates: 0, rejected: [] }
      : await importBatch(opened, tenantId, { number: batches++, posts });
    tally.created += done.created;
    tally.duplicates += done.duplicates;
    for (const { index, fault } of done.rejected) reject(waiting[index]?.line ?? 0, fault);
    waiting = [];
    ports.progress?.(progressText(size === 0 ? 1 : Math.min(1, bytes / size), tally.rows));
  }

  let last = 0;
  for await (const row of rowsOf(file)) {
    tally.rows++;
    last = row.bytes;
    const read = row.value.ok ? readPost(row.value.item) : row.value;
    if (read.ok) waiting.push({ line: row.line, post: read.post });
    else reject(row.line, read.fault);
    if (waiting.length === BATCH_ROWS) await flush(row.bytes);
  }
  if (waiting.length > 0) await flush(last);
  ports.progress?.(null);
  tell(ports, tally, options);
}

async function fileSize(file: string): Promise<number> {
  const found = await stat(file).catch(() => null);
  if (found?.isFile()) return found.size;
  throw new CommandError(`There is no file "${file}".`, EXIT.usage);
}

/** A file that turns out to be no table ends here, with the line that says so. */
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
  return `[${bar}] ${Math.floor(share * 100)} %, ${rows} rows`;
}

function tell(ports: Ports, tally: Tally, { dryRun, json }: Options): void {
  const { rows, created, duplicates, rejected } = tally;
  if (rejected > MAX_TOLD) ports.err(`and ${rejected - MAX_TOLD} more rejected rows`);
  if (json) ports.out(JSON.stringify({ ...tally, dry_run: dryRun === true }));
  else if (dryRun)
    ports.out(`${rows} rows: ${rows - rejected} can be read, ${rejected} cannot; nothing was stored.`);
  else ports.out(`${rows} rows: ${created} created, ${duplicates} duplicates, ${rejected} rejected.`);
  if (rejected > 0) ports.setExitCode(EXIT.failed);
}
