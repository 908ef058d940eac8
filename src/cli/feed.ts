import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { fetchText, NetworkError } from './request.ts';

/** An event of a feed; `payload` is the JSON that would be posted. */
export interface FeedEvent {
  id: string;
  type: string;
  timestamp: string;
  payload: Record<string, unknown>;
}

interface FeedPage {
  data: FeedEvent[];
  pagination: { next_cursor: string; has_more: boolean };
  truncated: boolean;
}

/** Where a feed is, and where its place is kept between runs. */
export interface FeedSource {
  baseUrl: string;
  apiKey: string;
  webhookId: string;
  /** A file; what it holds is the cursor of the page that was done last. */
  placeFile: string;
  /** Where to begin without a place: the oldest event there is, or what comes from now on. */
  fromStart: boolean;
}

const WAIT_SECONDS = 20;
const TIMEOUT_MS = 40_000;
const RETRY_MS = 2_000;
/** Refusals that waiting does not change. */
const FINAL = new Set([400, 401, 403, 404]);

/**
 * Follows a feed until `isStopping`: `handle` has done with an event before the next one, and with a page before its cursor
 * is kept, so that what a stop cuts off comes again. @throws CommandError where the server refuses
 */
export async function followFeed(
  { clock, err }: Pick<Ports, 'clock' | 'err'>,
  source: FeedSource,
  { handle, isStopping }: { handle(event: FeedEvent): Promise<void>; isStopping(): boolean },
): Promise<void> {
  let cursor = readPlace(source) ?? (source.fromStart ? null : 'now');
  let isFirst = true;
  while (!isStopping()) {
    const page = await readPage(clock, source, { cursor, wait: isFirst ? 0 : WAIT_SECONDS }).catch(
      (error: unknown) => {
        if (isFirst || !(error instanceof NetworkError)) throw asCommandError(error);
        err(`${error.message}; trying again`);
        return null;
      },
    );
    isFirst = false;
    if (page === null) {
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
      continue;
    }
    if (page.truncated) err('Events between the last run and 7 days ago are gone.');
    for (const event of page.data) {
      if (isStopping()) return;
      await handle(event);
    }
    cursor = page.pagination.next_cursor;
    keepPlace(source, cursor);
  }
}

async function readPage(
  clock: Ports['clock'],
  { baseUrl, apiKey, webhookId }: FeedSource,
  { cursor, wait }: { cursor: string | null; wait: number },
): Promise<FeedPage> {
  const url = new URL(`${baseUrl}/v1/webhooks/${encodeURIComponent(webhookId)}/feed`);
  url.searchParams.set('wait', String(wait));
  if (cursor !== null) url.searchParams.set('cursor', cursor);
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetchText(clock, { url: url.href, headers, timeoutMs: TIMEOUT_MS });
  if (answer.status === 200) return JSON.parse(answer.text) as FeedPage;
  const said = `The server answered ${answer.status}: ${detailOf(answer.text)}`;
  if (FINAL.has(answer.status)) throw new CommandError(said);
  throw new NetworkError(said);
}

function detailOf(text: string): string {
  try {
    return String((JSON.parse(text) as { detail?: unknown }).detail ?? text);
  } catch {
    return text.slice(0, 200);
  }
}

function asCommandError(error: unknown): unknown {
  return error instanceof NetworkError ? new CommandError(error.message, EXIT.network) : error;
}

function readPlace({ placeFile }: FeedSource): string | null {
  try {
    return readFileSync(placeFile, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Written beside and renamed: a stop in between leaves the one before. */
function keepPlace({ placeFile }: FeedSource, cursor: string): void {
  mkdirSync(dirname(placeFile), { recursive: true });
  writeFileSync(`${placeFile}.new`, `${cursor}\n`);
  renameSync(`${placeFile}.new`, placeFile);
}
