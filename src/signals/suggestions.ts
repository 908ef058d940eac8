import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { IcpPatch, IcpProfile } from '../model/icp.ts';
import type { IcpSuggestion, SuggestionAction } from '../model/icp-quality.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { changeProfile, findProfile } from './profiles.ts';
import { suggestChanges } from './suggest-changes.ts';

/** The newest signals with feedback, so many of them, are what quality and suggestions are made from. */
export const MAX_JUDGED = 500;

interface SuggestionParts {
  store: Store;
  clock: Clock;
}

/** A decision that was made, with what the profile had before: it can be taken back. */
interface Decided {
  suggestion: IcpSuggestion;
  previousWarm: number | null;
}

/** What is suggested now, and what was decided before. @throws DomainError `NOT_FOUND` */
export async function listSuggestions(
  { store }: Pick<SuggestionParts, 'store'>,
  tenantId: string,
  profileId: string,
): Promise<IcpSuggestion[]> {
  const profile = await findProfile(store, tenantId, profileId);
  const [posts, decided] = await Promise.all([
    store.listJudgedPosts(tenantId, profileId, MAX_JUDGED),
    store.listSuggestionDecisions(tenantId, profileId),
  ]);
  const before = decided.map((text) => (JSON.parse(text) as Decided).suggestion);
  const known = new Set(before.map(({ id }) => id));
  return [...suggestChanges(profile, posts).filter(({ id }) => !known.has(id)), ...before];
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
  if (action === 'undo')
    return await undo(parts, tenant, { profileId, id, isSuggested: suggestion !== null });
  if (suggestion === null) throw unknown(id);
  return await decide(parts, { tenant, profileId, suggestion }, action);
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
  };
  const isFirst = await store.saveSuggestionDecision({
    ...{ tenantId: tenant.id, profileId, suggestion: suggestion.id },
    ...{ decision: JSON.stringify(decided), decidedAt: clock.now() },
  });
  if (!isFirst) {
    const detail = `The suggestion is ${suggestion.status === 'open' ? 'decided' : suggestion.status} already.`;
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
    throw new DomainError('CONFLICT', 'Nothing was decided that could be undone.');
  }
  const { suggestion, previousWarm } = JSON.parse(removed) as Decided;
  if (suggestion.status === 'accepted') {
    const profile = await findProfile(parts.store, tenant.id, profileId);
    const patch = reversalOf(suggestion, profile, previousWarm);
    if (patch !== null) await changeProfile(parts, tenant, { id: profileId, patch });
  }
  return { ...suggestion, status: 'open' };
}

function unknown(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no suggestion "${id}".`);
}

function patchOf({ kind, value }: IcpSuggestion, profile: IcpProfile): IcpPatch {
  return kind === 'exclude_phrase'
    ? { excluded_phrases: [...profile.excludedPhrases, String(value)] }
    : { thresholds: { warm: Number(value) } };
}

/** What takes the change back and nothing else; null where somebody has done so, or has gone on from there. */
function reversalOf(
  { kind, value }: IcpSuggestion,
  profile: IcpProfile,
  warm: number | null,
): IcpPatch | null {
  if (kind === 'exclude_phrase') {
    const excluded = profile.excludedPhrases.filter((phrase) => phrase !== value);
    return excluded.length < profile.excludedPhrases.length ? { excluded_phrases: excluded } : null;
  }
  return warm !== null && profile.thresholds.warm === value ? { thresholds: { warm } } : null;
}
