import type { Clock } from '../lib/clock.ts';
import type { DeliveryCount } from './delivery-count.ts';
import type { DemoApi, ReadSource } from './demo-api.ts';
import type { DemoSite } from './demo-site.ts';
import { CommandError } from './ports.ts';

interface SourcesPart {
  clock: Clock;
  api: DemoApi;
  site: DemoSite;
  count: DeliveryCount;
  out(line: string): void;
}

const READ_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 100;

/** Sources that are read live: a forum by the feed that its page names, and a company's jobs; then the forum again. */
export async function showSources({ clock, api, site, count, out }: SourcesPart): Promise<void> {
  out(`\nA small site at ${site.url} has a forum and a company's jobs; both are made sources, and read:\n`);
  const forum = await api.createSource({ kind: 'rss', name: 'Forum', url: `${site.url}/forum/` });
  const jobs = await api.createSource({ kind: 'lever', name: 'Jobs', board: 'northgate' });
  const before = await readOnce(forum);
  await readOnce(jobs);
  out(
    '\nSomebody writes another thread, and the forum is read again; what was read before makes no second signal:\n',
  );
  site.post();
  await api.runSource(forum.id);
  await readOnce(forum, before);

  async function readOnce({ id }: ReadSource, last: ReadSource | null = null): Promise<ReadSource> {
    const until = clock.monotonic() + READ_WITHIN_MS;
    for (;;) {
      const source = await api.readSource(id);
      if (source.last_run_at !== null && source.last_run_at !== last?.last_run_at) return told(source, last);
      if (clock.monotonic() > until)
        throw new CommandError(`The source "${source.name}" was not read in time.`);
      await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  function told(source: ReadSource, last: ReadSource | null): ReadSource {
    const { name, last_error: error } = source;
    if (error !== null) throw new CommandError(`The source "${name}" was not read: ${error.message}`);
    const read = source.items_seen - (last?.items_seen ?? 0);
    const made = source.signals_made - (last?.signals_made ?? 0);
    for (let i = 0; i < made; i++) count.expect();
    out(`     ${name}: ${read} new post${read === 1 ? '' : 's'}, ${made} signal${made === 1 ? '' : 's'}`);
    return source;
  }
}
