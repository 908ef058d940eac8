import { type Clock, fromIso } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import { createConnect } from '../webhooks/connect.ts';
import { createLookup } from '../webhooks/target-lookup.ts';
import { checkSite, type Lookup } from '../webhooks/targets.ts';
import { createHostGate, orAborted } from './host-gate.ts';
import { type Answer, createRequests } from './request.ts';
import { createRobots, ROBOT_NAME } from './robots.ts';
import { MAX_ROBOTS_BYTES } from './robots-rules.ts';
import { SourceFault } from './source-fault.ts';

const MAX_REDIRECTS = 5;
/** A pause that nobody names, for an answer that says "too many requests". */
const UNNAMED_PAUSE_MS = 5 * 60_000;
const MAX_PAUSE_MS = 24 * 3_600_000;
/** What a source's own address may be, and more than any sensible one is. */
const MAX_ADDRESS = 2_048;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** What reading the web needs of the process. */
export interface WebParts {
  clock: Clock;
  baseUrl: string;
  allowTargets: AddressSet;
  lookup?: Lookup;
}

/** An answer, and where it came from at last. */
export interface Page extends Answer {
  url: string;
}

/** A run's way through the web: its time, and whether it has begun to read. */
export interface Journey {
  /** Aborted when its time is over. */
  signal: AbortSignal | null;
  /** Requests sent, robots.txt apart. Before the first one it is put off rather than wait for a host. */
  asked: number;
}

export interface ReadOptions {
  accept: string;
  /** Validators of the answer before; then 304 is an answer too. */
  etag?: string | null;
  lastModified?: string | null;
  /** robots.txt decides; left out for APIs, which are made for programs. */
  robots?: boolean;
}

/** The web, read politely: one request per host at a time, pauses and robots.txt obeyed, public addresses only. */
export interface Web {
  /** Any status but those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions, journey?: Journey): Promise<Page>;
  abort(): void;
}

/** What one chain of redirects is asked with. */
interface Asking {
  headers: Record<string, string>;
  journey: Journey;
  permit(url: URL): Promise<void>;
  cutAt?: number;
}

export function createWeb(parts: WebParts): Web {
  const { clock, allowTargets: allow, baseUrl, lookup = createLookup() } = parts;
  const connect = createConnect({ clock, allow, lookup, localAddress: null, lenient: true });
  const requests = createRequests({ clock, connect });
  const gate = createHostGate(clock);
  const robots = createRobots({
    clock,
    pace: gate.pace,
    // Many runs may wait for it: no single one's time is its limit.
    get: (url) =>
      follow(url, {
        headers: { accept: 'text/plain, */*;q=0.1' },
        journey: { signal: null, asked: 1 },
        permit: async () => {},
        cutAt: MAX_ROBOTS_BYTES,
      }),
  });
  const userAgent = `${ROBOT_NAME}/1.0 (+${baseUrl})`;

  /** Every hop's address is checked, by its text here and by what it resolves to when it is dialled. */
  async function follow(start: URL, asking: Asking): Promise<Page> {
    let url = start;
    const been = new Set<string>();
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      await asking.permit(url);
      been.add(url.href);
      const answer = await ask(url, asking);
      const next = REDIRECTS.has(answer.status) ? answer.headers.location : undefined;
      if (next === undefined) return { ...answer, url: url.href };
      url = checked(URL.parse(next, url.href)?.href ?? next);
      if (been.has(url.href))
        throw new SourceFault('too_many_redirects', 'The address redirects in a circle.');
    }
    throw new SourceFault('too_many_redirects', `The address redirects more than ${MAX_REDIRECTS} times.`);
  }

  async function ask(url: URL, { headers, journey, cutAt }: Asking): Promise<Answer> {
    const passage = { signal: journey.signal, mayWait: journey.asked > 0 };
    const answer = await gate.enter(url.host, passage, async () => {
      journey.asked++;
      const got = await requests.send(url, {
        headers: { 'user-agent': userAgent, 'accept-encoding': 'gzip, deflate, br', ...headers },
        signal: journey.signal,
        cutAt,
      });
      const pause = pauseOf(got, clock.now());
      if (pause > 0) gate.hold({ host: url.host, scope: '', until: pause });
      return got;
    });
    const pause = pauseOf(answer, clock.now());
    if (pause === 0) return answer;
    const message = `The host answered ${answer.status}; it is read again when the pause it asked for is over.`;
    throw new SourceFault('rate_limited', message, pause);
  }

  function checked(address: string): URL {
    if (address.length > MAX_ADDRESS) {
      throw new SourceFault(
        'blocked_target',
        `The address redirects to one that is longer than ${MAX_ADDRESS} characters.`,
      );
    }
    const target = checkSite(address, allow);
    if ('url' in target) return target.url;
    throw new SourceFault('blocked_target', `The address ${target.fault}.`);
  }

  function permitFor({ signal }: Journey) {
    return (url: URL) => {
      const known = robots.demand(url);
      return signal === null ? known : orAborted(known, signal);
    };
  }

  return {
    read(
      address,
      { accept, etag, lastModified, robots: obey = false },
      journey = { signal: null, asked: 0 },
    ) {
      const headers = {
        accept,
        ...(etag ? { 'if-none-match': etag } : {}),
        ...(lastModified ? { 'if-modified-since': lastModified } : {}),
      };
      const permit = obey ? permitFor(journey) : async () => {};
      return Promise.resolve().then(() => follow(checked(address), { headers, journey, permit }));
    },
    abort: requests.abort,
  };
}

/** Until when an answer asks to be left alone, Unix milliseconds; 0: it does not. */
function pauseOf({ status, headers }: Answer, now: number): number {
  const given = headers['retry-after'];
  if (status !== 429 && !(status === 503 && given !== undefined)) return 0;
  const seconds = /^\d{1,9}$/.test(given ?? '') ? Number(given) * 1_000 : fromIso(given ?? '') - now;
  const pause = Number.isNaN(seconds) ? UNNAMED_PAUSE_MS : Math.max(1_000, seconds);
  return now + Math.min(pause, MAX_PAUSE_MS);
}

/** The answer where it is a success. @throws SourceFault */
export function demandSuccess(page: Page): Page {
  if (page.status >= 200 && page.status < 300) return page;
  const why =
    page.status === 404 || page.status === 410 ? 'There is nothing at this address' : 'The host answered';
  throw new SourceFault('http_status', `${why} (status ${page.status}).`);
}
