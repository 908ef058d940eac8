import type { Clock } from '../lib/clock.ts';
import { SourceFault } from './source-fault.ts';
import type { Web } from './web.ts';

/** Whoever makes a source waits no longer for its robots.txt: what it says is heard at the first run then. */
const PATIENCE_MS = 5_000;

/** What there is instead, by host. */
const WAYS: [host: RegExp, way: string][] = [
  [/(^|\.)reddit\.com$/, 'Make a source of kind "reddit" with an app of your own.'],
  [/(^|\.)github\.com$/, 'Make a source of kind "github".'],
  [/(^|\.)stackexchange\.com$|(^|\.)stackoverflow\.com$/, 'Make a source of kind "stackexchange".'],
  [/(^|\.)ycombinator\.com$/, 'Make a source of kind "hackernews".'],
];

/** Why a program may not read an address, with what can be done instead; null where it may, or where that is not known in time. */
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
  return known?.[1] ?? 'Ask the site for an API or for leave, or bring its posts in by POST /v1/signals.';
}
