import type { Clock } from '../lib/clock.ts';
import { SourceFault } from './source-fault.ts';
import type { Web } from './web.ts';

/** Creating a source waits no longer than this for robots.txt; otherwise the first run checks it. */
const PATIENCE_MS = 5_000;

/** Alternatives, by host. */
const WAYS: [host: RegExp, way: string][] = [
  [/(^|\.)reddit\.com$/, 'Make a source of kind "reddit" with an app of your own.'],
  [/(^|\.)github\.com$/, 'Make a source of kind "github".'],
  [/(^|\.)stackexchange\.com$|(^|\.)stackoverflow\.com$/, 'Make a source of kind "stackexchange".'],
  [/(^|\.)ycombinator\.com$/, 'Make a source of kind "hackernews".'],
];

/** Why robots.txt forbids an address, and the alternative; null if it is allowed, or unknown in time. */
export function createRefusals(
  clock: Clock,
  web: Pick<Web, 'demand'>,
): (address: string) => Promise<string | null> {
  return async (address) => {
    const patience = new AbortController();
    const timer = clock.after(PATIENCE_MS, () =>
      patience.abort(new SourceFault('timeout', 'Not known in time.')),
    );
    try {
      await web.demand(address, { signal: patience.signal, asked: 1 });
      return null;
    } catch (error) {
      if (!(error instanceof SourceFault) || error.code !== 'robots_disallowed') return null;
      return `${error.message} ${wayFor(address)}`;
    } finally {
      timer.cancel();
    }
  };
}

function wayFor(address: string): string {
  const host = URL.parse(address)?.hostname ?? '';
  const known = WAYS.find(([site]) => site.test(host));
  return known?.[1] ?? 'Ask the site for an API or for permission, or send its posts to POST /v1/signals.';
}
