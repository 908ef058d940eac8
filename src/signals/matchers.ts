import type { IcpProfile } from '../model/icp.ts';
import type { ProfileStore } from '../store/profile-store.ts';
import { compilePhrases, type PhraseMatcher } from './phrases.ts';
import { type CompiledProfile, compileProfile, needsNoPhrase } from './score.ts';

/** A tenant's profiles made ready for posts: compiled, and their phrases in one automaton. */
export interface TenantMatcher {
  /** In the order of the store, oldest first; hits name profiles by their place here. */
  profiles: readonly CompiledProfile[];
  match: PhraseMatcher['match'];
  /** Places of those that a post may match without any of their phrases. */
  open: readonly number[];
  /** Places of the others that ask about author or company: an event may match them without a phrase. */
  fitting: readonly number[];
  /** Phrases of all its profiles: what it costs to keep. */
  size: number;
}

/** Matchers of tenants, kept between posts. */
export interface Matchers {
  /** The matcher of the tenant's profiles as they are stored now. */
  of(tenantId: string): Promise<TenantMatcher>;
}

/**
 * Phrases that are kept compiled in all. They take about 0.7 KB each, so that all of them take 140 MB: four tenants at
 * the limit of the largest plan, or forty at that of the next.
 */
const MAX_KEPT_PHRASES = 200_000;

interface Kept {
  stamp: string;
  matcher: TenantMatcher;
}

/**
 * Compiles a tenant's profiles when they are first needed and after a change; what has not changed is taken over. The
 * tenants that were asked for longest ago are forgotten first.
 */
export function createMatchers(store: ProfileStore, maxPhrases = MAX_KEPT_PHRASES): Matchers {
  /** By tenant, the one asked for last at the end. */
  const kept = new Map<string, Kept>();
  let size = 0;

  function keep(tenantId: string, stamp: string, matcher: TenantMatcher): void {
    size += matcher.size - (kept.get(tenantId)?.matcher.size ?? 0);
    kept.delete(tenantId);
    kept.set(tenantId, { stamp, matcher });
    for (const [id, { matcher: oldest }] of kept) {
      if (size <= maxPhrases || id === tenantId) return;
      kept.delete(id);
      size -= oldest.size;
    }
  }

  return {
    async of(tenantId) {
      // Read before the profiles: a change in between is noticed the next time.
      const stamp = await store.profileStamp(tenantId);
      const known = kept.get(tenantId);
      const matcher =
        known?.stamp === stamp
          ? known.matcher
          : compileTenant(await store.listProfiles(tenantId), known?.matcher.profiles ?? []);
      keep(tenantId, stamp, matcher);
      return matcher;
    },
  };
}

/** Compiles `profiles`; those that are in `known` in the same version are not read again. */
export function compileTenant(
  profiles: readonly IcpProfile[],
  known: readonly CompiledProfile[] = [],
): TenantMatcher {
  const before = new Map(known.map((compiled) => [versionOf(compiled.profile), compiled]));
  const compiled = profiles.map((profile) => before.get(versionOf(profile)) ?? compileProfile(profile));
  const { match } = compilePhrases(compiled.map(({ phrases }) => phrases));
  // A profile without phrases takes its place too.
  const size = compiled.reduce((total, { phrases }) => total + 1 + phrases.count, 0);
  const open = [...compiled.keys()].filter((place) => compiled[place] && needsNoPhrase(compiled[place]));
  const isOpen = new Set(open);
  const fitting = [...compiled.keys()].filter(
    (place) => !isOpen.has(place) && (compiled[place]?.fit.questions.length ?? 0) > 0,
  );
  return { profiles: compiled, match, open, fitting, size };
}

function versionOf({ id, version }: IcpProfile): string {
  return `${id} ${version}`;
}
