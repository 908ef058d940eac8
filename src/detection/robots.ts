import { LRUCache } from 'lru-cache';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { standInLine } from '../lib/yielding.ts';
import type { Documents } from './documents/documents.ts';
import { orAborted } from './host-gate.ts';
import type { HostResponse } from './request.ts';
import { MAX_ROBOTS_BYTES, NO_RULES, type RobotsRules, robotsDocument, rulesOf } from './robots-rules.ts';
import { SourceFault, STOPPED, stoppedFault } from './source-item.ts';

/** RFC 9309, section 2.4: not longer than this. */
const KEPT_MS = DAY_MS;
/** How long old rules stay valid if they cannot be refreshed. */
const TRY_AGAIN_MS = 10 * 60_000;
/** How long the failure to read a site's rules applies to all of its sources. */
const REFUSED_MS = 60_000;
const MAX_REFUSED = 1_000;
/** Errors that say nothing about a site's rules, and have their own delay. */
const PASSING = new Set(['rate_limited', STOPPED]);
const MAX_KEPT_BYTES = 8 * 1024 * 1024;
/** Our name in robots.txt files. */
export const ROBOT_NAME = 'Signalpost';

/** What sites allow robots to read (RFC 9309). */
export interface Robots {
  /**
   * The first tenant to need a site's rules is the `owner` of the document. Reading it ends when the signals of all that
   * wait for it are aborted.
   * @throws SourceFault if the URL is not allowed, or if that cannot be determined
   */
  demand(url: URL, owner: string, signal: AbortSignal | null): Promise<void>;
}

interface CachedRules {
  rules: RobotsRules;
  /** In monotonic time. */
  until: number;
}

/** Rules that are being read. */
interface RulesInProgress {
  rules: Promise<RobotsRules>;
  waiting: number;
  end: AbortController;
}

interface RobotsDeps {
  clock: Clock;
  documents: Documents;
  /** Follows redirects, and returns any status. */
  get(url: URL, owner: string, signal: AbortSignal): Promise<HostResponse>;
  /** Sets the minimum time between two requests to a host. */
  pace(host: string, delayMs: number): void;
}

export function createRobots({ clock, documents, get, pace }: RobotsDeps): Robots {
  // In order of last use: the first entry is evicted first.
  const cache = new Map<string, CachedRules>();
  const refused = new LRUCache<string, { fault: SourceFault; until: number }>({ max: MAX_REFUSED });
  const fetching = new Map<string, RulesInProgress>();
  let bytes = 0;

  function keep(origin: string, entry: CachedRules): void {
    bytes += entry.rules.bytes - (cache.get(origin)?.rules.bytes ?? 0);
    cache.delete(origin);
    cache.set(origin, entry);
    for (const [oldest, { rules }] of cache) {
      if (bytes <= MAX_KEPT_BYTES) break;
      cache.delete(oldest);
      bytes -= rules.bytes;
    }
  }

  async function rulesFor(origin: string, owner: string, signal: AbortSignal | null): Promise<RobotsRules> {
    const known = cache.get(origin);
    if (known !== undefined && known.until > clock.monotonic()) {
      keep(origin, known);
      return known.rules;
    }
    const down = refused.get(origin);
    if (down !== undefined && down.until > clock.monotonic()) throw down.fault;
    const running = fetching.get(origin) ?? start(origin, { known, owner });
    running.waiting++;
    try {
      return await (signal === null ? running.rules : orAborted(running.rules, signal));
    } finally {
      running.waiting--;
      if (running.waiting === 0) end(origin, running);
    }
  }

  function start(origin: string, given: { known: CachedRules | undefined; owner: string }): RulesInProgress {
    const end = new AbortController();
    const running = { rules: refresh(origin, given, end.signal), waiting: 0, end };
    fetching.set(origin, running);
    return running;
  }

  /** Has no effect on rules that have been read; otherwise nobody waits for them any more. */
  function end(origin: string, running: RulesInProgress): void {
    if (fetching.get(origin) === running) fetching.delete(origin);
    running.end.abort(stoppedFault());
  }

  async function refresh(
    origin: string,
    { known, owner }: { known: CachedRules | undefined; owner: string },
    signal: AbortSignal,
  ): Promise<RobotsRules> {
    try {
      const rules = await fetchRules(origin, owner, signal);
      refused.delete(origin);
      keep(origin, { rules, until: clock.monotonic() + KEPT_MS });
      pace(new URL(origin).host, rules.delayMs);
      return rules;
    } catch (error) {
      if (!(error instanceof SourceFault) || PASSING.has(error.code)) throw error;
      if (known !== undefined) {
        // Section 2.4: while the file cannot be read, its previous rules apply.
        keep(origin, { rules: known.rules, until: clock.monotonic() + TRY_AGAIN_MS });
        return known.rules;
      }
      // Section 2.3.1.4: while the rules are unknown, everything is disallowed.
      refused.set(origin, { fault: error, until: clock.monotonic() + REFUSED_MS });
      throw error;
    }
  }

  async function fetchRules(origin: string, owner: string, signal: AbortSignal): Promise<RobotsRules> {
    const url = new URL('/robots.txt', origin);
    const { status, body } = await get(url, owner, signal).catch(orNone);
    // Section 2.3.1.3: without a file, everything is allowed.
    if (status >= 300 && status < 500) return NO_RULES;
    if (status >= 200 && status < 300) {
      const document = { body: body.subarray(0, MAX_ROBOTS_BYTES), contentType: '', url: url.href };
      return rulesOf(await documents.parse(robotsDocument, document, { robot: ROBOT_NAME }, owner));
    }
    throw new SourceFault('robots_unreachable', `The site's robots.txt cannot be read (status ${status}).`);
  }

  return {
    async demand(url, owner, signal) {
      const rules = await rulesFor(url.origin, owner, signal);
      // All that waited for the same rules continue here, and a costly file takes 10 ms: 32 sources took 0.3 s of one turn.
      await standInLine(owner);
      if (rules.allows(url.pathname + url.search)) return;
      const detail = `The robots.txt of ${url.host} does not allow ${ROBOT_NAME} to read this address.`;
      throw new SourceFault('robots_disallowed', detail);
    },
  };
}

/** Section 2.3.1.2: too many redirects count as no file. */
function orNone(error: unknown): Pick<HostResponse, 'status' | 'body'> {
  if (error instanceof SourceFault && error.code === 'too_many_redirects') {
    return { status: 404, body: Buffer.alloc(0) };
  }
  throw error;
}
