import type { Source, SourceError, SourceKind, SourcePosition } from '../model/source.ts';
import { type IntakeParts, planPosts } from '../signals/intake.ts';
import type { NewSignal } from '../store/signal-store.ts';
import type { ClaimedSource, SourceRun } from '../store/source-store.ts';
import { lanesOf } from '../webhooks/state-changes.ts';
import type { Reader, Reading, Sites } from './reader.ts';
import { STOPPED } from './request.ts';
import { SourceFault } from './source-fault.ts';
import { itemKey, type SourceItem, toPost } from './source-item.ts';
import { readFeedSource } from './sources/feeds.ts';
import { readHackerNews } from './sources/hackernews.ts';
import { readAshby, readGreenhouse, readLever } from './sources/job-boards.ts';
import { readStackExchange } from './sources/stack-exchange.ts';
import type { Web } from './web.ts';

/** The longest that a failing source waits to be tried again. */
const MAX_BACKOFF_MS = 6 * 3_600_000;
/** At least so many items are remembered, and never fewer than twice what the source shows. */
const MIN_SEEN = 500;

const READERS: Record<SourceKind, Reader> = {
  rss: readFeedSource,
  hackernews: readHackerNews,
  stackexchange: readStackExchange,
  greenhouse: readGreenhouse,
  lever: readLever,
  ashby: readAshby,
};

/** What a run needs of the process. */
export interface RunParts extends IntakeParts {
  web: Web;
  sites: Sites;
  /** Tells the dispatcher which endpoints have new work. */
  nudge(lanes: readonly { endpointId: string; tenantId: string }[]): void;
  log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/**
 * Reads a source once and stores what came of it: signals and position in one commit, or the fault. What cannot be
 * stored is left as it was, and the lease's end makes the source due again.
 */
export async function runClaimed(parts: RunParts, claimed: ClaimedSource): Promise<void> {
  const { source } = claimed;
  const run = await read(parts, claimed);
  if (run.error?.code === STOPPED) return; // the next start reads it
  const committed = await parts.store.finishSourceRun(run);
  const made = run.signals.filter((_, i) => committed?.[i]?.status === 'created');
  parts.nudge(made.flatMap((signal) => lanesOf(signal.events)));
  const fields = { source_id: source.id, items: run.itemsSeen, signals: made.length };
  if (run.error === null) parts.log.info(fields, 'source read');
  else parts.log.warn({ ...fields, code: run.error.code }, 'source not read');
}

async function read(parts: RunParts, claimed: ClaimedSource): Promise<SourceRun> {
  const { clock, web, sites } = parts;
  const { source, position } = claimed;
  try {
    const reading = await READERS[source.kind]({ source, position, now: clock.now(), web, sites });
    const fresh = unseen(reading.items, position);
    const signals = await match(parts, source, fresh);
    return {
      ...runOf(claimed, clock.now()),
      notBefore: reading.notBefore,
      position: advanced(position, reading),
      itemsSeen: fresh.length,
      signals,
    };
  } catch (error) {
    return failed(parts, claimed, error);
  }
}

/** What stands of every run: it is due again after its interval. */
function runOf({ source, token }: ClaimedSource, now: number): SourceRun {
  return {
    sourceId: source.id,
    token,
    now,
    claimedPollAt: source.nextPollAt,
    nextPollAt: now + source.intervalSeconds * 1_000,
    notBefore: 0,
    error: null,
    position: null,
    itemsSeen: 0,
    signals: [],
  };
}

function failed({ clock, log }: RunParts, claimed: ClaimedSource, error: unknown): SourceRun {
  const now = clock.now();
  const { source } = claimed;
  const known = error instanceof SourceFault;
  if (!known) log.error({ err: error, source_id: source.id }, 'source run broke');
  const shown: SourceError = known
    ? { code: error.code, message: error.message, at: now }
    : { code: 'internal', message: 'The run broke off. The fault is ours; it has been logged.', at: now };
  const notBefore = known ? error.retryAt : 0;
  const nextPollAt = Math.max(notBefore, now + backoffMs(source));
  return { ...runOf(claimed, now), error: shown, notBefore, nextPollAt };
}

/** Twice as long after each failure, and never shorter than the interval. */
export function backoffMs({
  intervalSeconds,
  failures,
}: Pick<Source, 'intervalSeconds' | 'failures'>): number {
  const interval = intervalSeconds * 1_000;
  return Math.max(interval, Math.min(interval * 2 ** Math.min(failures, 20), MAX_BACKOFF_MS));
}

/** The signals of items that match, each item once. @throws SourceFault where no profile is there to match with */
async function match(parts: RunParts, source: Source, items: readonly SourceItem[]): Promise<NewSignal[]> {
  const posts = items.map(toPost).filter((post) => post !== null);
  const rule = { profileIds: source.profileIds, onlyMatching: true };
  const planned = await planPosts(parts, source.tenantId, posts, rule);
  if (planned.some(({ errors }) => errors.length > 0)) {
    // Nothing is passed over: it is all read again once there is a profile.
    throw new SourceFault('no_active_profile', 'None of the profiles that it is matched with is active.');
  }
  return planned.flatMap(({ signals }) => signals);
}

function unseen(items: readonly SourceItem[], { seen }: SourcePosition): SourceItem[] {
  const known = new Set(seen);
  return items.filter((item) => {
    const key = itemKey(item);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
}

/** Keys of this reading come first: what a feed still shows is what must not be forgotten. */
function advanced(before: SourcePosition, { items, position }: Reading): SourcePosition {
  const keep = Math.max(MIN_SEEN, 2 * items.length, items.length === 0 ? before.seen.length : 0);
  const seen = [...new Set([...items.map(itemKey), ...before.seen])].slice(0, keep);
  const { etag, lastModified, newestAt } = position;
  return { etag, lastModified, newestAt, seen };
}
