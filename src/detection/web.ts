import { type Clock, readRetryAfter } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import type { HostHold } from '../store/source-store.ts';
import { createConnect } from '../webhooks/connect.ts';
import { createLookup } from '../webhooks/target-lookup.ts';
import { checkSite, type Lookup } from '../webhooks/targets.ts';
import { createAdmission } from './admission.ts';
import type { Documents } from './documents/documents.ts';
import { createHostGate, MAX_PAUSE_MS } from './host-gate.ts';
import { createRequests, type HostResponse, listenTo } from './request.ts';
import { createRobots, ROBOT_NAME } from './robots.ts';
import { MAX_ROBOTS_BYTES } from './robots-rules.ts';
import { SourceFault } from './source-item.ts';

const MAX_REDIRECTS = 5;
/** The pause after a 429 without Retry-After. */
const UNNAMED_PAUSE_MS = 5 * 60_000;
/** Maximum length of a URL, which is also that of a source's own. */
const MAX_ADDRESS = 2_048;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Dependencies of reading the web. */
export interface WebDeps {
  clock: Clock;
  baseUrl: string;
  allowTargets: AddressSet;
  documents: Documents;
  lookup?: Lookup;
  /** Contact in the User-Agent; defaults to the base URL. */
  contact?: string | null;
  /** Stores a pause so that it survives a restart; omitted if nothing is stored. */
  keepHold?(hold: HostHold): Promise<void>;
}

/** A response, and the final URL. */
export interface FetchedPage extends HostResponse {
  url: string;
}

/** The progress of a run: its deadline, and the number of requests. */
export interface Journey {
  /** The tenant for which hosts are connected to and documents are parsed; empty: none. */
  owner: string;
  /** Aborted when its time is up. */
  signal: AbortSignal | null;
  /**
   * Number of requests, except for robots.txt. Before the first one, a run is postponed instead of waiting
   * for a host.
   */
  asked: number;
}

export interface ReadOptions {
  accept: string;
  /** Validators of the previous response; with them, 304 may be returned. */
  etag?: string | null;
  lastModified?: string | null;
  /** Whether to obey robots.txt; omitted for APIs, which are made for programs. */
  robots?: boolean;
  /** Further scopes of the host's rate limits: a method, an API key. */
  scopes?: readonly string[];
  /** Further headers. They are only sent to the origin of the URL, not to redirect targets elsewhere. */
  headers?: Record<string, string>;
  /** Sent by POST. */
  body?: string;
}

/**
 * Reads the web politely: one request per host at a time, honouring pauses and robots.txt, and only from
 * public addresses.
 */
export interface Web {
  /** Returns any status except those that ask for a pause. @throws SourceFault, PutOff */
  read(address: string, options: ReadOptions, journey?: Journey): Promise<FetchedPage>;
  /**
   * Listens to a stream (`ws:`, `wss:`) for `limitMs`, or until `take` ends it. @throws SourceFault, PutOff
   */
  listen(
    address: string,
    limitMs: number,
    take: (text: string, end: () => void) => void,
    journey: Journey,
  ): Promise<void>;
  /** Blocks requests to the host of a URL for `scope` until a given time, including after a restart. */
  hold(address: string, scope: string, until: number): Promise<void>;
  /** Restores pauses from before this process started. */
  recall(holds: readonly HostHold[]): void;
  /** Resolves if robots.txt allows us to read a URL. @throws SourceFault */
  demand(address: string, journey: Journey): Promise<void>;
  abort(): void;
}

/** Options of a chain of redirects. */
interface RedirectChain {
  headers: Record<string, string>;
  /** Only sent to the first origin. */
  own?: Record<string, string> | undefined;
  scopes?: readonly string[] | undefined;
  body?: string | undefined;
  journey: Journey;
  permit(url: URL): Promise<void>;
  cutAt?: number;
}

export function createWeb(deps: WebDeps): Web {
  const { clock, allowTargets: allow, baseUrl, contact, lookup = createLookup(clock) } = deps;
  const connect = createConnect({ clock, allow, lookup, localAddress: null, lenient: true });
  const requests = createRequests({ clock, connect });
  const gate = createHostGate(clock);
  const stopping = new AbortController();
  const robots = createRobots({
    clock,
    documents: deps.documents,
    pace: gate.pace,
    get: (url, owner, signal) =>
      follow(url, {
        headers: { accept: 'text/plain, */*;q=0.1' },
        journey: { owner, signal, asked: 1 },
        permit: async () => {},
        cutAt: MAX_ROBOTS_BYTES,
      }),
  });
  const userAgent = `${ROBOT_NAME}/1.0 (+${[baseUrl, contact].filter(Boolean).join('; ')})`;

  async function hold({ until, ...of }: HostHold): Promise<void> {
    const held = { ...of, until: Math.min(until, clock.now() + MAX_PAUSE_MS) };
    gate.hold(held);
    // A pause that cannot be stored still applies in this process.
    await deps.keepHold?.(held).catch(() => {});
  }

  /** Checks the address of every hop: here by its text, and on connecting by what it resolves to. */
  async function follow(start: URL, chain: RedirectChain): Promise<FetchedPage> {
    let url = start;
    const been = new Set<string>();
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      await chain.permit(url);
      been.add(url.href);
      const answer = await ask(url, { ...chain, own: url.origin === start.origin ? chain.own : undefined });
      const next = REDIRECTS.has(answer.status) ? answer.headers.location : undefined;
      if (next === undefined) return { ...answer, url: url.href };
      url = checked(URL.parse(next, url.href)?.href ?? next);
      if (been.has(url.href) && chain.body === undefined)
        throw new SourceFault('too_many_redirects', 'The address redirects in a loop.');
    }
    throw new SourceFault('too_many_redirects', `The address redirects more than ${MAX_REDIRECTS} times.`);
  }

  async function ask(url: URL, chain: RedirectChain): Promise<HostResponse> {
    const { journey, scopes = [] } = chain;
    const { owner, signal } = journey;
    const passage = { owner, signal, mayWait: journey.asked > 0, scopes };
    const answer = await gate.enter(url.host, passage, async () => {
      journey.asked++;
      const got = await requests.send(url, {
        headers: {
          'user-agent': userAgent,
          // Without deflate, which some servers send without its header (RFC 9110, section 8.4.1.2).
          'accept-encoding': 'gzip, br',
          ...chain.headers,
          ...chain.own,
        },
        body: chain.body,
        owner,
        signal,
        cutAt: chain.cutAt,
      });
      const pause = pauseOf(got, clock.now());
      // Hosts with limits per key or method pause only those.
      if (pause > 0) await hold({ host: url.host, scope: scopes[0] ?? '', until: pause });
      return got;
    });
    const pause = pauseOf(answer, clock.now());
    if (pause === 0) return answer;
    const message = `The host responded with status ${answer.status}. It is read again after the requested pause.`;
    throw new SourceFault('rate_limited', message, pause);
  }

  function checked(address: string): URL {
    if (address.length > MAX_ADDRESS) {
      throw new SourceFault(
        'blocked_target',
        `The address redirects to a URL of more than ${MAX_ADDRESS} characters.`,
      );
    }
    const target = checkSite(address, allow);
    if ('url' in target) return target.url;
    throw new SourceFault('blocked_target', `The address ${target.fault}.`);
  }

  function permitFor({ owner, signal }: Journey) {
    return (url: URL) => robots.demand(url, owner, signal);
  }

  return {
    read(address, options, journey = { owner: '', signal: null, asked: 0 }) {
      const { accept, etag, lastModified, robots: obey = false, headers: own, scopes, body } = options;
      const headers = {
        accept,
        ...(etag ? { 'if-none-match': etag } : {}),
        ...(lastModified ? { 'if-modified-since': lastModified } : {}),
      };
      const permit = obey ? permitFor(journey) : async () => {};
      const chain = { headers, own, scopes, body, journey, permit };
      return Promise.resolve().then(() => follow(checked(address), chain));
    },
    async listen(address, limitMs, take, journey) {
      const url = checked(address.replace(/^ws/, 'http'));
      const { owner, signal } = journey;
      const passage = { owner, signal, mayWait: journey.asked > 0, scopes: [] };
      url.protocol = url.protocol.replace('http', 'ws');
      await gate.enter(url.host, passage, () =>
        listenTo(
          { clock, connect },
          {
            url,
            headers: { 'user-agent': userAgent },
            limitMs,
            owner,
            take,
            signal: either(stopping.signal, signal),
          },
        ),
      );
    },
    hold: (address, scope, until) => hold({ host: new URL(address).host, scope, until }),
    recall: (holds) => holds.forEach(gate.hold),
    demand: (address, journey) => Promise.resolve().then(() => permitFor(journey)(checked(address))),
    abort() {
      stopping.abort();
      requests.abort();
    },
  };
}

function either(one: AbortSignal, other: AbortSignal | null): AbortSignal {
  return other === null ? one : AbortSignal.any([one, other]);
}

/** The end of the pause that a response requests, Unix milliseconds; 0: none. */
function pauseOf({ status, headers }: HostResponse, now: number): number {
  const given = headers['retry-after'];
  const spent = headers['x-ratelimit-remaining'] === '0';
  const asks =
    status === 429 ||
    (status === 503 && given !== undefined) ||
    (status === 403 && (spent || given !== undefined));
  if (!asks) return 0;
  const pause = given === undefined ? resetOf(headers['x-ratelimit-reset'], now) : readRetryAfter(given, now);
  return now + Math.min(Math.max(1_000, pause ?? UNNAMED_PAUSE_MS), MAX_PAUSE_MS);
}

/** Parses the reset time of GitHub (seconds since 1970), Mastodon (a date) and Reddit (seconds from now). */
function resetOf(given: string | undefined, now: number): number | null {
  if (given === undefined) return null;
  if (!/^\d{1,10}(\.\d+)?$/.test(given)) return readRetryAfter(given, now);
  const seconds = Number(given);
  return seconds > 1e9 ? seconds * 1_000 - now : seconds * 1_000;
}

/** Maximum wait for robots.txt when a source is created; otherwise the first run checks it. */
const PATIENCE_MS = 5_000;
/** Maximum number of concurrent checks in the process, and of a tenant. */
const [MOST_CHECKS, MOST_CHECKS_OF_A_TENANT] = [32, 4];

/** Alternatives, by host. */
const WAYS: [host: RegExp, way: string][] = [
  [/(^|\.)reddit\.com$/, 'Create a source of kind "reddit" with your own app.'],
  [/(^|\.)github\.com$/, 'Create a source of kind "github".'],
  [/(^|\.)stackexchange\.com$|(^|\.)stackoverflow\.com$/, 'Create a source of kind "stackexchange".'],
  [/(^|\.)ycombinator\.com$/, 'Create a source of kind "hackernews".'],
];

/**
 * Why robots.txt disallows a URL, and the alternative; null if it is allowed, or unknown in time, or if too many are being
 * checked.
 */
export function createRefusals(
  clock: Clock,
  web: Pick<Web, 'demand'>,
): (tenantId: string, address: string) => Promise<string | null> {
  const admit = createAdmission(MOST_CHECKS, MOST_CHECKS_OF_A_TENANT);
  return async (owner, address) => {
    const release = admit(owner);
    if (release === null) return null;
    const patience = new AbortController();
    const timer = clock.after(PATIENCE_MS, () =>
      patience.abort(new SourceFault('timeout', 'Not known in time.')),
    );
    try {
      await web.demand(address, { owner, signal: patience.signal, asked: 1 });
      return null;
    } catch (error) {
      if (!(error instanceof SourceFault) || error.code !== 'robots_disallowed') return null;
      return `${error.message} ${wayFor(address)}`;
    } finally {
      timer.cancel();
      release();
    }
  };
}

function wayFor(address: string): string {
  const host = URL.parse(address)?.hostname ?? '';
  const known = WAYS.find(([site]) => site.test(host));
  return known?.[1] ?? 'Ask the site for an API or for permission, or send its posts to POST /v1/signals.';
}
