import { createRequire } from 'node:module';
import type { Clock } from '../lib/clock.ts';
import type { Answer } from './request.ts';
import { SourceFault } from './source-fault.ts';

/** RFC 9309, section 2.4: not longer than this. */
const KEPT_MS = 24 * 3_600_000;
const MAX_KEPT = 1_000;
/** RFC 9309, section 2.5: at least this much is read. */
const MAX_BYTES = 512_000;
/** What robots.txt files call us. */
export const ROBOT_NAME = 'Signalpost';

interface ParsedRobots {
  isAllowed(url: string, robot: string): boolean | undefined;
}

// Its types promise a default export that this CommonJS package does not have.
const robotsParser: (address: string, text: string) => ParsedRobots = createRequire(import.meta.url)(
  'robots-parser',
);

/** What sites allow robots to read (RFC 9309). */
export interface Robots {
  /** @throws SourceFault where it is not allowed, or cannot be known */
  demand(url: URL): Promise<void>;
}

interface Rules {
  allows(url: string): boolean;
  until: number;
}

/** `get` follows redirects, and answers whatever the status. */
export function createRobots(clock: Clock, get: (url: URL) => Promise<Answer>): Robots {
  const kept = new Map<string, Rules>();

  async function rulesOf(origin: string): Promise<Rules> {
    const known = kept.get(origin);
    if (known !== undefined && known.until > clock.monotonic()) return known;
    const rules = await fetchRules(origin);
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? '');
    kept.set(origin, rules);
    return rules;
  }

  async function fetchRules(origin: string): Promise<Rules> {
    const address = new URL('/robots.txt', origin);
    const { status, body } = await get(address);
    const until = clock.monotonic() + KEPT_MS;
    // Section 2.3.1.3: none there is no rule. Section 2.3.1.4: one that cannot be read forbids everything.
    if (status >= 400 && status < 500 && status !== 429) return { allows: () => true, until };
    if (status !== 200) {
      throw new SourceFault('robots_unreachable', `The site's robots.txt cannot be read (status ${status}).`);
    }
    const rules = robotsParser(address.href, body.subarray(0, MAX_BYTES).toString('utf8'));
    return { allows: (url) => rules.isAllowed(url, ROBOT_NAME) !== false, until };
  }

  return {
    async demand(url) {
      const rules = await rulesOf(url.origin);
      if (rules.allows(url.href)) return;
      const detail = `The robots.txt of ${url.host} does not allow ${ROBOT_NAME} to read this address.`;
      throw new SourceFault('robots_disallowed', detail);
    },
  };
}
