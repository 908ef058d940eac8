import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import { createFifo, type Fifo } from '../lib/queues.ts';
import { createYielder } from '../lib/yielding.ts';
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

/** What showing and deciding suggestions needs of the process. */
export interface SuggestionDeps {
  store: Store;
  clock: Clock;
  suggester: Suggester;
}

/** A decision that was made, with what the profile had before: it can be taken back. */
interface Decided {
  suggestion: IcpSuggestion;
  /** The threshold of warm, where that was moved. */
  previousWarm: number | null;
  /** The weight, where one was moved; left out in older decisions. */
  previousWeight?: number | null;
}

/** What is suggested now, and what was decided before. @throws DomainError `NOT_FOUND` */
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
 * The decision is stored before the profile is changed by it: whether it is the first is decided in its commit, and what is
 * cut off in between can be undone. @throws DomainError `NOT_FOUND`, `CONFLICT` (decided already, or not at all), `PLAN_REQUIRED`
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

/** What the profile learned by itself, as a change that holds until it is undone; none where it learned nothing. */
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

/** Switches what was learned on or off: undone, it is dismissed; undone again, it is back. */
async function switchLearned(
  { store }: SuggestionDeps,
  tenantId: string,
  target: { profileId: string; suggestion: IcpSuggestion; action: SuggestionAction },
): Promise<IcpSuggestion> {
  const { profileId, suggestion, action } = target;
  const isOn = action === 'undo' ? suggestion.status !== 'accepted' : action === 'accept';
  if (await store.switchLesson(tenantId, profileId, isOn))
    return { ...suggestion, status: isOn ? 'accepted' : 'dismissed' };
  throw new DomainError('CONFLICT', `What was learned is already ${suggestion.status}.`, {
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

/** Decisions of before there were other lists do not name the member. */
function withMember(suggestion: IcpSuggestion): IcpSuggestion {
  const member = suggestion.kind === 'exclude_phrase' ? 'excluded_phrases' : 'thresholds.warm';
  return { ...suggestion, member: suggestion.member ?? member };
}

function weightOf({ kind, member }: IcpSuggestion, { weights }: IcpProfile): number | null {
  const key = WEIGHT_KEYS.find((each) => kind === 'move_weight' && member === `weights.${each}`);
  return key === undefined ? null : weights[key];
}

/** Undoes exactly this change; null if it was undone already or built upon. */
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

/** How many of the newest signals with feedback precision and suggestions are computed from. */
export const MAX_JUDGED = 500;

/** Profiles whose suggestions are kept, about 10 KB each, those that were looked at last. */
const MAX_KEPT = 500;
/** An erasure that leaves every length as it was is noticed after this at the latest. */
const MAX_AGE_MS = 10 * 60_000;
/** Others that wait for their suggestions, each for a second or two. */
const MAX_WAITING = 16;
const RETRY_AFTER_SECONDS = 10;

/** Works out what feedback suggests for profiles, and keeps it for as long as it holds. */
export interface Suggester {
  /** @throws DomainError `UNAVAILABLE` where too many others wait already */
  suggest(profile: IcpProfile): Promise<readonly IcpSuggestion[]>;
}

interface Kept {
  stamp: string;
  madeAt: number;
  suggestions: Promise<readonly IcpSuggestion[]>;
}

/**
 * Suggestions take a second of processor time for long posts, and a profile's screen asks for them at each view: they are
 * made anew only after the profile, its feedback or a judged post has changed, once for all who ask meanwhile, and for one
 * profile at a time, so that the posts of one are in memory.
 */
export function createSuggester(store: SignalStore, clock: Clock): Suggester {
  /** By profile. */
  const kept = new LRUCache<string, Kept>({ max: MAX_KEPT });
  const line = createLine(MAX_WAITING);

  async function make(profile: IcpProfile, judgements: readonly Judgement[]) {
    return line.inTurn(async () => {
      const nextTurn = createYielder(clock);
      const posts: JudgedPost[] = [];
      for (const judgement of judgements) {
        const signal = await store.getSignal(profile.tenantId, judgement.signalId);
        if (signal !== null) posts.push(judgedPostOf(judgement, signal));
        await nextTurn();
      }
      return await suggestChanges(profile, posts, nextTurn);
    });
  }

  return {
    async suggest(profile) {
      const judgements = await store.listJudgements(profile.tenantId, profile.id, MAX_JUDGED);
      const stamp = stampOf(profile, judgements);
      const now = clock.monotonic();
      const known = kept.get(profile.id);
      const isGood = known?.stamp === stamp && now - known.madeAt < MAX_AGE_MS;
      const entry = isGood ? known : { stamp, madeAt: now, suggestions: make(profile, judgements) };
      kept.set(profile.id, entry);
      try {
        return await entry.suggestions;
      } catch (error) {
        if (kept.get(profile.id) === entry) kept.delete(profile.id);
        throw error;
      }
    },
  };
}

/** What suggestions follow from. */
function stampOf({ tenantId, version }: IcpProfile, judgements: readonly Judgement[]): string {
  return createHash('sha256')
    .update(JSON.stringify([tenantId, version, judgements]))
    .digest('base64');
}

/** One piece of work after the other, and not more than `most` waiting. */
function createLine(most: number): { inTurn<T>(work: () => Promise<T>): Promise<T> } {
  const waiting: Fifo<() => void> = createFifo();
  let isBusy = false;
  return {
    async inTurn(work) {
      if (isBusy) {
        if (waiting.size >= most) throw tooMany();
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      isBusy = true;
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) isBusy = false;
        else next();
      }
    },
  };
}

function tooMany(): DomainError {
  return new DomainError('UNAVAILABLE', 'Suggestions for too many profiles are being worked out.', {
    hint: `Wait ${RETRY_AFTER_SECONDS} seconds (Retry-After), then try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
