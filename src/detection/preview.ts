import { DAY_MS } from '../lib/clock.ts';
import { createYielder } from '../lib/yielding.ts';
import { NO_SETTINGS } from '../model/constants.ts';
import { NEVER_READ, type Source } from '../model/source.ts';
import type { Place } from '../signals/places.ts';
import { planPosts } from '../signals/plan-posts.ts';
import type { SourcePreview } from '../signals/source-management.ts';
import { createAdmission } from './admission.ts';
import { type RunDeps, readInTime } from './run.ts';
import { PutOff, SourceFault, toPosts } from './source-item.ts';

/** Maximum time that a user waits for a preview, and maximum number of posts of a day in it. */
const PATIENCE_MS = 12_000;
const MOST_POSTS = 200;
/** Maximum number of concurrent previews in the process, and of a tenant: each may read twenty pages. */
const MOST_AT_ONCE = 16;
const MOST_OF_A_TENANT = 4;

/**
 * Previews what a place would have found in the last 24 hours. It is read as politely as a source, and
 * nothing is stored.
 */
export function createSourcePreviews(
  deps: Omit<RunDeps, 'log'>,
): (tenantId: string, profileId: string, place: Pick<Place, 'kind' | 'settings'>) => Promise<SourcePreview> {
  const admit = createAdmission(MOST_AT_ONCE, MOST_OF_A_TENANT);
  return async (tenantId, profileId, place) => {
    if (place.kind === 'bluesky') return { fault: 'Bluesky is read in real time, so there is no preview.' };
    const release = admit(tenantId);
    if (release === null) return { fault: 'Too many previews are in progress. Try again in a moment.' };
    try {
      return await preview(deps, asSource(tenantId, profileId, place, deps.clock.now()));
    } catch (error) {
      if (error instanceof PutOff)
        return { fault: 'The site is being read for another source. Try again soon.' };
      if (error instanceof SourceFault) return { fault: error.message };
      throw error;
    } finally {
      release();
    }
  };
}

async function preview(deps: Omit<RunDeps, 'log'>, source: Source): Promise<SourcePreview> {
  const position = { etag: null, lastModified: null, newestAt: null, seen: [], cursor: null };
  const { items } = await readInTime(deps, { source, position }, { limitMs: PATIENCE_MS });
  const since = deps.clock.now() - DAY_MS;
  const recent = items.filter(({ postedAt }) => postedAt === null || postedAt >= since).slice(0, MOST_POSTS);
  const posts = await toPosts(recent, createYielder(deps.clock));
  const rule = { profileIds: source.profileIds, onlyMatching: true };
  const planned = await planPosts(deps, source.tenantId, posts, rule);
  const found = planned.flatMap(({ signals }) => signals.slice(0, 1));
  const best = found.sort((a, b) => b.score - a.score)[0];
  return { read: posts.length, matched: found.length, best: best === undefined ? null : best.text };
}

/** An unsaved source, in the form that readers take. */
function asSource(
  tenantId: string,
  profileId: string,
  { kind, settings }: Pick<Place, 'kind' | 'settings'>,
  now: number,
): Source {
  return {
    id: 'preview',
    tenantId,
    kind,
    name: 'Preview',
    settings: { ...NO_SETTINGS, ...settings },
    secrets: {},
    profileIds: [profileId],
    intervalSeconds: 900,
    maxAgeDays: 1,
    status: 'active',
    nextPollAt: now,
    ...NEVER_READ,
    createdAt: now,
    updatedAt: now,
  };
}
