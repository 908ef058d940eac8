import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createLimits, createSharedLimit } from '../lib/queues.ts';
import { createYielder, shared } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import { type IcpPatch, type IcpProfile, WEIGHT_KEYS } from '../model/icp.ts';
import type { IcpSuggestion, SuggestionAction } from '../model/icp-draft.ts';
import type { Tenant } from '../model/tenant.ts';
import type { StoredLesson } from '../store/profile-store.ts';
import type { Judgement, SignalStore } from '../store/signal-store.ts';
import type { Store } from '../store/store.ts';
import { savedLessonOf } from './lesson.ts';
import { changeProfile, findProfile } from './profiles.ts';
import { type JudgedPost, judgedPostOf, patchOf, suggestChanges } from './suggest-changes.ts';

/** Dependencies of showing and deciding suggestions. */
export interface SuggestionDeps {
  store: Store;
  clock: Clock;
  suggester: Suggester;
}

/** A decision, with the previous values of the profile, so that it can be undone. */
interface Decided {
  suggestion: IcpSuggestion;
  /** The previous threshold of warm, if it was changed. */
  previousWarm: number | null;
  /** The previous weight, if one was changed; omitted in older decisions. */
  previousWeight?: number | null;
}

/** Open suggestions, followed by decided ones. @throws DomainError `NOT_FOUND` */
export async function listSuggestions(
  { store, suggester }: SuggestionDeps,
  tenantId: string,
  profileId: string,
): Promise<IcpSuggestion[]> {
  const profile = await findProfile(store, tenantId, profileId);
  const [open, decided, lessons] = await Promise.all([
    suggester.suggest(profile),
    store.listSuggestionDecisions(tenantId, profileId),
    store.listLessons(tenantId),
  ]);
  const learned = lessons.filter((lesson) => lesson.profileId === profileId).flatMap(learnedTopic);
  const before = decided.map((text) => withMember((JSON.parse(text) as Decided).suggestion));
  const known = new Set(before.map(({ id }) => id));
  return [...open.filter(({ id }) => !known.has(id)), ...learned, ...before];
}

/**
 * Decides a suggestion. The decision is stored before it changes the profile: the commit determines whether
 * it is the first one, and an interrupted change can be undone.
 * @throws DomainError `NOT_FOUND`, `CONFLICT` (already decided, or nothing to undo), `PLAN_REQUIRED`
 */
export async function decideSuggestion(
  deps: SuggestionDeps,
  tenant: Tenant,
  { profileId, id, action }: { profileId: string; id: string; action: SuggestionAction },
): Promise<IcpSuggestion> {
  const all = await listSuggestions(deps, tenant.id, profileId);
  const suggestion = all.find((each) => each.id === id) ?? null;
  if (suggestion?.kind === 'learned_topic')
    return await switchLearned(deps, tenant.id, { profileId, suggestion, action });
  if (action === 'undo') return await undo(deps, tenant, { profileId, id, isSuggested: suggestion !== null });
  if (suggestion === null) throw unknown(id);
  return await decide(deps, { tenant, profileId, suggestion }, action);
}

/** The lesson of a profile, as a change that applies until it is undone; none if there is no lesson. */
function learnedTopic(stored: StoredLesson): IcpSuggestion[] {
  const saved = savedLessonOf(stored);
  if (saved === null) return [];
  const { judged, relevant, before, after } = saved;
  const what = `${relevant} relevant and ${judged - relevant} not relevant`;
  return [
    {
      id: 'learned_topic',
      kind: 'learned_topic',
      member: 'offer',
      status: stored.isOn ? 'accepted' : 'dismissed',
      summary: `Learned from ${judged} judgements (${what}): posts like the relevant ones score higher, posts like the others lower.`,
      value: judged,
      effect: { shown_before: before, shown_after: after },
    },
  ];
}

/** Turns a lesson on or off. Undoing an acceptance dismisses it; undoing that restores it. */
async function switchLearned(
  { store }: SuggestionDeps,
  tenantId: string,
  target: { profileId: string; suggestion: IcpSuggestion; action: SuggestionAction },
): Promise<IcpSuggestion> {
  const { profileId, suggestion, action } = target;
  const isOn = action === 'undo' ? suggestion.status !== 'accepted' : action === 'accept';
  if (await store.switchLesson(tenantId, profileId, isOn))
    return { ...suggestion, status: isOn ? 'accepted' : 'dismissed' };
  throw new DomainError('CONFLICT', `The lesson is already ${suggestion.status}.`, {
    hint: 'Undo that first.',
  });
}

interface Target {
  tenant: Tenant;
  profileId: string;
  suggestion: IcpSuggestion;
}

async function decide(
  deps: SuggestionDeps,
  { tenant, profileId, suggestion }: Target,
  action: 'accept' | 'dismiss',
): Promise<IcpSuggestion> {
  const { store, clock } = deps;
  const profile = await findProfile(store, tenant.id, profileId);
  const decided: Decided = {
    suggestion: { ...suggestion, status: action === 'accept' ? 'accepted' : 'dismissed' },
    previousWarm: profile.thresholds.warm,
    previousWeight: weightOf(suggestion, profile),
  };
  const isFirst = await store.saveSuggestionDecision({
    ...{ tenantId: tenant.id, profileId, suggestion: suggestion.id },
    ...{ decision: JSON.stringify(decided), decidedAt: clock.now() },
  });
  if (!isFirst) {
    const detail = `The suggestion is already ${suggestion.status === 'open' ? 'decided' : suggestion.status}.`;
    throw new DomainError('CONFLICT', detail, { hint: 'Undo that first.' });
  }
  if (action === 'accept') {
    try {
      await changeProfile(deps, tenant, { id: profileId, patch: patchOf(suggestion, profile) });
    } catch (error) {
      await store.removeSuggestionDecision(tenant.id, profileId, suggestion.id);
      throw error;
    }
  }
  return decided.suggestion;
}

async function undo(
  deps: SuggestionDeps,
  tenant: Tenant,
  { profileId, id, isSuggested }: { profileId: string; id: string; isSuggested: boolean },
): Promise<IcpSuggestion> {
  const removed = await deps.store.removeSuggestionDecision(tenant.id, profileId, id);
  if (removed === null) {
    if (!isSuggested) throw unknown(id);
    throw new DomainError('CONFLICT', 'There is no decision to undo.');
  }
  const { suggestion: stored, previousWarm, previousWeight = null } = JSON.parse(removed) as Decided;
  const suggestion = withMember(stored);
  if (suggestion.status === 'accepted') {
    const profile = await findProfile(deps.store, tenant.id, profileId);
    const patch = reversalOf(suggestion, profile, { warm: previousWarm, weight: previousWeight });
    if (patch !== null) await changeProfile(deps, tenant, { id: profileId, patch });
  }
  return { ...suggestion, status: 'open' };
}

function unknown(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no suggestion "${id}".`);
}

/** Adds the member to old decisions, which were stored before there were other lists. */
function withMember(suggestion: IcpSuggestion): IcpSuggestion {
  const member = suggestion.kind === 'exclude_phrase' ? 'excluded_phrases' : 'thresholds.warm';
  return { ...suggestion, member: suggestion.member ?? member };
}

function weightOf({ kind, member }: IcpSuggestion, { weights }: IcpProfile): number | null {
  const key = WEIGHT_KEYS.find((each) => kind === 'move_weight' && member === `weights.${each}`);
  return key === undefined ? null : weights[key];
}

/** Reverses exactly this change; null if the profile has changed since. */
function reversalOf(
  suggestion: IcpSuggestion,
  profile: IcpProfile,
  previous: { warm: number | null; weight: number | null },
): IcpPatch | null {
  const { kind, member, value } = suggestion;
  const without = (list: readonly string[]) => list.filter((each) => each !== value);
  if (kind === 'move_weight') {
    const stays = weightOf(suggestion, profile) === value && previous.weight !== null;
    return stays ? { weights: { [member.replace('weights.', '')]: previous.weight } } : null;
  }
  if (kind === 'raise_threshold' || kind === 'lower_threshold') {
    const { warm } = previous;
    return warm !== null && profile.thresholds.warm === value ? { thresholds: { warm } } : null;
  }
  const lists = {
    exclude_phrase: { name: 'excluded_phrases', list: profile.excludedPhrases },
    add_phrase: { name: 'phrases', list: profile.phrases },
    mute_author: { name: 'muted_authors', list: profile.mutedAuthors },
    mute_source: { name: 'muted_sources', list: profile.mutedSources },
  } as const;
  if (kind === 'learned_topic') return null;
  const { name, list } = lists[kind];
  return without(list).length < list.length ? { [name]: without(list) } : null;
}

/** Maximum number of the newest signals with feedback that precision and suggestions are computed from. */
export const MAX_JUDGED = 500;

/** Maximum number of profiles whose suggestions are cached, about 10 KB each. */
const MAX_CACHED = 500;
/** Maximum age of cached suggestions. It covers an erasure that leaves every length unchanged. */
const MAX_AGE_MS = 10 * 60_000;
/** Maximum number of a tenant's waiting computations, each of which takes a second or two for long posts. */
const MAX_WAITING = 16;
/** Computations with more characters of posts wait for others: 500 posts have up to 10 million. */
const LARGE = 2_000_000;
const RETRY_AFTER_SECONDS = 10;

/** Computes the suggestions for profiles and caches them while they are valid. */
export interface Suggester {
  /** @throws DomainError `UNAVAILABLE` if too many computations are waiting */
  suggest(profile: IcpProfile): Promise<readonly IcpSuggestion[]>;
}

interface CachedSuggestions {
  stamp: string;
  madeAt: number;
  suggestions: Promise<readonly IcpSuggestion[]>;
}

/**
 * Computing suggestions takes a second of CPU time for long posts, and a profile's page requests them on each
 * view. They are computed again only after the profile, its feedback or a judged post has changed, once for
 * all concurrent callers, and for one profile of a tenant at a time. Of profiles with many long posts, only those of one are in memory:
 * tenants take turns, and others do not wait for them.
 */
export function createSuggester(store: SignalStore, clock: Clock): Suggester {
  /** By profile. */
  const cache = new LRUCache<string, CachedSuggestions>({ max: MAX_CACHED });
  const ofTenant = createLimits(1, { most: MAX_WAITING, error: tooMany });
  const large = createSharedLimit(1);

  function make(profile: IcpProfile, judgements: readonly Judgement[]) {
    const { tenantId } = profile;
    return ofTenant(tenantId, async () => {
      const nextTurn = createYielder(clock);
      const posts: JudgedPost[] = [];
      const left = judgements.values();
      let size = 0;
      async function readUpTo(most: number): Promise<void> {
        while (size <= most) {
          const { value: judgement } = left.next();
          if (judgement === undefined) return;
          const signal = await store.getSignal(tenantId, judgement.signalId);
          if (signal !== null) posts.push(judgedPostOf(judgement, signal));
          size += signal?.text.length ?? 0;
          await nextTurn();
        }
      }
      async function finish() {
        await readUpTo(Number.POSITIVE_INFINITY);
        return await suggestChanges(profile, posts, nextTurn);
      }
      await readUpTo(LARGE);
      return size > LARGE ? await large(tenantId, finish) : await finish();
    });
  }

  return {
    async suggest(profile) {
      const judgements = await store.listJudgements(profile.tenantId, profile.id, MAX_JUDGED);
      const stamp = stampOf(profile, judgements);
      const now = clock.monotonic();
      const known = cache.get(profile.id);
      const isGood = known?.stamp === stamp && now - known.madeAt < MAX_AGE_MS;
      const entry = isGood ? known : { stamp, madeAt: now, suggestions: make(profile, judgements) };
      cache.set(profile.id, entry);
      try {
        return await shared(entry.suggestions);
      } catch (error) {
        if (cache.get(profile.id) === entry) cache.delete(profile.id);
        throw error;
      }
    },
  };
}

/** Everything that the suggestions depend on. */
function stampOf({ tenantId, version }: IcpProfile, judgements: readonly Judgement[]): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantId, version, judgements]))
    .digest('base64');
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Too many suggestions are being computed.', {
    hint: `Wait ${RETRY_AFTER_SECONDS} seconds (Retry-After), then try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
