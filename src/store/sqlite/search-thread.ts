import { parentPort, type Worker, workerData } from 'node:worker_threads';
import Sqlite, { type Database } from 'better-sqlite3';
import { systemClock } from '../../lib/clock.ts';
import { startThread } from '../../lib/package.ts';
import { createPlaces } from '../../lib/places.ts';
import { shared } from '../../lib/yielding.ts';
import { DomainError } from '../../model/errors.ts';
import type { SignalQuery } from '../../model/signal.ts';
import { phrasesOf } from '../../rules/words.ts';
import type { SignalPage } from '../signal-store.ts';
import { createProfileResolver } from './reads/profiles.ts';
import { decadesFrom, MOST_BEGUN } from './reads/signal-list.ts';
import { signalReads } from './reads/signals.ts';
import { begunPhrases, searchPhrases } from './signal-index.ts';

/** Searches in separate threads, started on first use. Null if the thread failed. @throws DomainError `UNAVAILABLE` once closed */
export interface SearchThreads {
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage | null>;
  /** The number of signals, counted up to `most`. */
  countSignals(tenantId: string, query: SignalQuery, most: number): Promise<number | null>;
  close(): Promise<void>;
}

/** A requested page; with `most`, a number. */
interface Search {
  tenantId: string;
  query: SignalQuery;
  most: number | null;
}

/** A thread, with the search in progress. */
interface Line {
  worker: Worker;
  ready: PromiseWithResolvers<void>;
  current: PromiseWithResolvers<Answer | null> | null;
}

/**
 * A search takes as long as a tenant's posts make it, seconds in the worst case, and cannot be interrupted: others use another
 * thread, of which slow tenants leave one to them.
 */
const MOST_THREADS = 3;
/** Searches that take longer, or are expected to, leave a thread to others. */
const LONG_MS = 100;
const POSITION_MS = 5e-6;

/** The terms of a search in the thread of requests. The index reads the signals of each: 160 words in 5,700 signals take 34 ms, a list of them 65. */
const FEW_TERMS = 10;

/** Time in the thread of requests: a search that may take longer goes to another one. */
const AT_ONCE_MS = 50;
/** The index reads the lists of all terms at once: 0.07 µs for each signal and term, if each signal lacks one. */
const LISTED_MS = 8e-5;
/**
 * In order of score, it reads them again for each score that occurs, and skips the more, the longer they are: with a hundred scores,
 * this many times as long.
 */
const SCORED_TIMES = 40;

/** Signals done or snoozed that a list of the open ones skips in the thread of requests: 0.3 µs each. */
const FEW_TRIAGED = 2_000;

/**
 * Creates a bound of how long the index reads the lists of a search's terms: most searches, whose page is full early, take far less.
 * A range of time counts as a term, because in order of score the signals outside of it are passed; so does a minimum below the first
 * decade: in order of time, all signals of lower scores are passed, 45 ms per million.
 */
export function createListingBound(db: Database): (tenantId: string, query: SignalQuery) => number {
  const resolveProfiles = createProfileResolver(db);
  const selectStored = selectStoredSignals(db);
  return (tenantId, query) => {
    const { q, qBegins, platforms, icps, signalTypes, classifications, companyDomains, sort } = query;
    const words = q === null ? 0 : phrasesOf(q).length + (qBegins === true ? MOST_BEGUN - 1 : 0);
    const profiles = icps.length === 0 ? [] : resolveProfiles(tenantId, icps);
    const filters = [platforms, profiles, signalTypes, classifications, companyDomains, decadesFrom(query)];
    const terms = filters.reduce((sum, { length }) => sum + length, words);
    const isLow = query.minScore !== null && query.minScore > 0 && query.sort !== '-icp_score' && terms === 0;
    const lists = terms + (isLow || query.from !== null || query.to !== null ? 1 : 0);
    if (lists === 0) return 0;
    const times = sort === '-icp_score' && terms > 0 ? SCORED_TIMES : 1;
    return (selectStored.get(tenantId) ?? 0) * lists * times * LISTED_MS;
  };
}

function selectStoredSignals(db: Database) {
  return db.prepare<[string], number>('SELECT signals FROM stored_rows WHERE tenant_id = ?').pluck();
}

/**
 * Creates the test whether a search may take long: because words must be adjacent, for which the index scans all rows that contain
 * them, until the page is full; because there are many words or other terms, or some and many signals; because signals are looked for by how they were triaged, unless only a few have to be skipped; or
 * because those of one post are filtered further: for each, the index may read on to the end.
 */
export function createLongSearchTest(db: Database): (tenantId: string, query: SignalQuery) => boolean {
  const upTo = FEW_TRIAGED + 1;
  const resolveProfiles = createProfileResolver(db);
  const listingMs = createListingBound(db);
  const countSkipped = db
    .prepare<[string, string], number>(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM signal_triage WHERE tenant_id = ? AND is_done LIMIT ${upTo})) +
         (SELECT count(*) FROM (SELECT 1 FROM signal_triage WHERE tenant_id = ? AND snoozed_until IS NOT NULL LIMIT ${upTo}))`,
    )
    .pluck();

  return (tenantId, query) => {
    const { q, triage, platforms, icps, companyDomains } = query;
    // In order of score, all signals of the post are sorted: 300,000 with platforms of their own took 0.11 s.
    if (query.externalId !== undefined && (isFiltered(query) || query.sort === '-icp_score')) return true;
    const phrases = q === null ? [] : phrasesOf(q);
    if (phrases.some((words) => words.length > 1)) return true;
    // A name stands for the deleted profiles with it, too.
    const profiles = icps.length === 0 ? [] : resolveProfiles(tenantId, icps);
    if (phrases.length + platforms.length + profiles.length + companyDomains.length > FEW_TERMS) return true;
    if (listingMs(tenantId, query) > AT_ONCE_MS) return true;
    if (triage === undefined || (triage.state === 'all' && triage.assignee === null)) return false;
    if (triage.state !== 'open' || triage.assignee !== null) return true;
    return (countSkipped.get(tenantId, tenantId) ?? 0) > FEW_TRIAGED;
  };
}

function isFiltered({
  q,
  platforms,
  icps,
  signalTypes,
  classifications,
  companyDomains,
  minScore,
}: SignalQuery) {
  const lists = [platforms, icps, signalTypes, classifications, companyDomains];
  return q !== null || minScore !== null || lists.some(({ length }) => length > 0);
}

/**
 * A phrase of common words that does not occur takes time proportional to the posts with these words: 27 ms for 3,000
 * long ones, 2 s for 400 posts of one word ten thousand times, which would block the server's main thread.
 */
export function createSearchThreads(file: string): SearchThreads {
  const places = createPlaces(systemClock, { most: MOST_THREADS, slowMs: LONG_MS });
  const lines = new Set<Line>();
  let isClosed = false;

  function end(line: Line, answer: Answer | null): void {
    const ended = line.current;
    line.current = null;
    line.worker.unref();
    ended?.resolve(answer);
  }

  function idleLine(): Line {
    for (const line of lines) if (line.current === null) return line;
    return start();
  }

  /** The thread has ended, and with it the search in progress. */
  function drop(gone: Line): void {
    if (!lines.delete(gone)) return;
    gone.ready.resolve();
    end(gone, null);
  }

  function start(): Line {
    const worker = startThread<{ answer: Answer | null | 'ready' }>(import.meta.url, './search-thread', {
      workerData: { file },
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 },
      answered: ({ answer }) => (answer === 'ready' ? line.ready.resolve() : end(line, answer)),
      ended: () => drop(line),
    });
    const line: Line = { worker, ready: Promise.withResolvers(), current: null };
    lines.add(line);
    return line;
  }

  function search(asked: Search, mayTakeLong: boolean): Promise<Answer | null> {
    return places.run(asked.tenantId, async (place) => {
      if (isClosed) throw stopping();
      const line = idleLine();
      const current = Promise.withResolvers<Answer | null>();
      line.current = current;
      line.worker.ref();
      line.worker.postMessage({ ...asked, mayTakeLong: mayTakeLong || places.isSlow(asked.tenantId) });
      await line.ready.promise;
      place.begins();
      return await shared(current.promise);
    });
  }

  async function ask(asked: Search): Promise<Answer | null> {
    const answer = await search(asked, false);
    if (answer === null || !('longMs' in answer)) return answer;
    places.tire(asked.tenantId, answer.longMs);
    return await search(asked, true);
  }

  return {
    async listSignals(tenantId, query) {
      const answer = await ask({ tenantId, query, most: null });
      return answer !== null && 'json' in answer
        ? { json: Buffer.from(answer.json), last: answer.last }
        : null;
    },
    async countSignals(tenantId, query, most) {
      const answer = await ask({ tenantId, query, most });
      return answer !== null && 'count' in answer ? answer.count : null;
    },
    async close() {
      isClosed = true;
      // Waiting ones are refused, too: the caller would repeat them in its own thread, one after the other.
      const ending = [...lines];
      for (const line of ending) {
        line.current?.reject(stopping());
        drop(line);
      }
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  };
}

function stopping(): DomainError {
  return new DomainError('UNAVAILABLE', 'The server is stopping. Nothing was changed.');
}

/** A page's bytes and its end, a number, or how long a search that may not take long would take. */
type Answer = { json: ArrayBuffer; last: SignalPage['last'] } | { count: number } | { longMs: number };

/** A signal of one of many words takes as long as this many positions of a phrase. */
const ROW_POSITIONS = 12;

/**
 * Creates an estimate, quicker than the search, of how many positions of words a search compares at most: those of each word of a
 * phrase in all posts, about 5 ns each, and of more than a few single words the posts with each.
 */
export function createSearchEstimate(db: Database): (tenantId: string, query: SignalQuery) => number {
  db.exec('CREATE VIRTUAL TABLE temp.signal_words USING fts5vocab(main, signal_search, row)');
  const selectPositions = db
    .prepare<[string], number>('SELECT cnt FROM temp.signal_words WHERE term = ?')
    .pluck();
  const selectSignals = db
    .prepare<[string], number>('SELECT doc FROM temp.signal_words WHERE term = ?')
    .pluck();
  const selectStored = selectStoredSignals(db);
  return (tenantId, { q, qBegins }) => {
    const phrases = termsOfPhrases(tenantId, q ?? '', qBegins === true);
    let positions = 0;
    const words = phrases.flatMap((terms) => (terms.length > 1 ? terms : []));
    for (const [word, times] of Map.groupBy(words, (word) => word))
      positions += times.length * (selectPositions.get(word) ?? 0);
    const single = new Set(phrases.flatMap((terms) => (terms.length === 1 ? terms : [])));
    if (single.size <= FEW_TERMS) return positions;
    // Reading how many posts have a word takes half as long as searching for it.
    const most = ROW_POSITIONS * single.size * (selectStored.get(tenantId) ?? 0);
    if (most * POSITION_MS < LONG_MS) return positions + most;
    for (const word of single) {
      positions += ROW_POSITIONS * (selectSignals.get(word) ?? 0);
      if (positions * POSITION_MS >= LONG_MS) break;
    }
    return positions;
  };
}

/** The terms of each phrase or single word. One whose last word is only begun is there once for each completion. */
function termsOfPhrases(tenantId: string, q: string, isBegun: boolean): string[][] {
  const completions = (beginning: string) => Array.from({ length: MOST_BEGUN }, () => beginning);
  const begun = isBegun ? begunPhrases(tenantId, q, completions) : null;
  const phrases = begun === null ? searchPhrases(tenantId, q) : [...begun.whole, ...begun.begun];
  return phrases.map((phrase) => phrase.split(' '));
}

if (parentPort !== null) serve(parentPort, workerData as { file: string });

function serve(port: NonNullable<typeof parentPort>, { file }: { file: string }): void {
  const db = new Sqlite(file, { readonly: true });
  const reads = signalReads(db);
  const estimate = createSearchEstimate(db);
  const listingMs = createListingBound(db);

  /** Nobody knows how long it takes: for each signal of an external ID, the index may read on to the end; for each score, too. */
  function isUnknown({ tenantId, query, most }: Search): boolean {
    if (query.externalId !== undefined) return true;
    return most === null && query.sort === '-icp_score' && listingMs(tenantId, query) >= LONG_MS;
  }

  function answerOf({
    tenantId,
    query,
    most,
    mayTakeLong,
  }: Search & { mayTakeLong: boolean }): Answer | null {
    try {
      const expectedMs = () =>
        isUnknown({ tenantId, query, most }) ? LONG_MS : estimate(tenantId, query) * POSITION_MS;
      const longMs = mayTakeLong ? 0 : expectedMs();
      if (longMs >= LONG_MS) return { longMs };
      if (most !== null) return { count: reads.countSignals(tenantId, query, most) };
      const { json, last } = reads.listSignals(tenantId, query);
      return { json: Uint8Array.from(json).buffer, last };
    } catch {
      // The caller repeats the search in its own thread, where errors keep their class.
      return null;
    }
  }

  port.on('message', (search: Search & { mayTakeLong: boolean }) => {
    const answer = answerOf(search);
    port.postMessage({ answer }, answer !== null && 'json' in answer ? [answer.json] : []);
  });
  port.postMessage({ answer: 'ready' });
}
