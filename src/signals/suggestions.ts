import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import { type IcpPatch, type IcpProfile, WEIGHT_KEYS } from '../model/icp.ts';
import type { IcpSuggestion, SuggestionAction } from '../model/icp-quality.ts';
import type { Tenant } from '../model/tenant.ts';
import type { StoredLesson } from '../store/profile-store.ts';
import type { Store } from '../store/store.ts';
import { savedLessonOf } from './lesson.ts';
import { changeProfile, findProfile } from './profiles.ts';
import { patchOf } from './suggest-changes.ts';
import type { Suggester } from './suggester.ts';

/** What showing and deciding suggestions needs of the process. */
export interface SuggestionParts {
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
  { store, suggester }: SuggestionParts,
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
  parts: SuggestionParts,
  tenant: Tenant,
  { profileId, id, action }: { profileId: string; id: string; action: SuggestionAction },
): Promise<IcpSuggestion> {
  const all = await listSuggestions(parts, tenant.id, profileId);
  const suggestion = all.find((each) => each.id === id) ?? null;
  if (suggestion?.kind === 'learned_topic')
    return await switchLearned(parts, tenant.id, { profileId, suggestion, action });
  if (action === 'undo')
    return await undo(parts, tenant, { profileId, id, isSuggested: suggestion !== null });
  if (suggestion === null) throw unknown(id);
  return await decide(parts, { tenant, profileId, suggestion }, action);
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
  { store }: SuggestionParts,
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
  parts: SuggestionParts,
  { tenant, profileId, suggestion }: Target,
  action: 'accept' | 'dismiss',
): Promise<IcpSuggestion> {
  const { store, clock } = parts;
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
      await changeProfile(parts, tenant, { id: profileId, patch: patchOf(suggestion, profile) });
    } catch (error) {
      await store.removeSuggestionDecision(tenant.id, profileId, suggestion.id);
      throw error;
    }
  }
  return decided.suggestion;
}

async function undo(
  parts: SuggestionParts,
  tenant: Tenant,
  { profileId, id, isSuggested }: { profileId: string; id: string; isSuggested: boolean },
): Promise<IcpSuggestion> {
  const removed = await parts.store.removeSuggestionDecision(tenant.id, profileId, id);
  if (removed === null) {
    if (!isSuggested) throw unknown(id);
    throw new DomainError('CONFLICT', 'There is no decision to undo.');
  }
  const { suggestion: stored, previousWarm, previousWeight = null } = JSON.parse(removed) as Decided;
  const suggestion = withMember(stored);
  if (suggestion.status === 'accepted') {
    const profile = await findProfile(parts.store, tenant.id, profileId);
    const patch = reversalOf(suggestion, profile, { warm: previousWarm, weight: previousWeight });
    if (patch !== null) await changeProfile(parts, tenant, { id: profileId, patch });
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
