import { beyondPlan, effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import { defaultProfile, type IcpInput, type IcpPatch, type IcpProfile, patchProfile } from '../model/icp.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { ProfileStore } from '../store/profile-store.ts';

export interface ProfileParts {
  store: ProfileStore;
  clock: Clock;
  newId: NewId;
}

/** @throws DomainError `CONFLICT` (name taken), `PLAN_REQUIRED` (too many of them or of their phrases), `INVALID_REQUEST` */
export async function createProfile(
  { store, clock, newId }: ProfileParts,
  tenant: Tenant,
  input: IcpInput,
): Promise<IcpProfile> {
  const profile = draftProfile(defaultProfile(newId('icp'), tenant.id, clock.now()), {
    description: '',
    ...input,
  });
  const plan = effectivePlan(tenant, clock.now());
  const { profiles: limit, profilePhrases } = planLimits(plan);
  const outcome = await store.createProfile(profile, limit, profilePhrases);
  if (outcome === 'name_taken') throw nameTaken(profile.name);
  if (outcome === 'created') {
    await switchDefaultOff({ store, clock }, tenant, profile);
    return profile;
  }
  if (outcome === 'too_many_phrases') throw tooManyPhrases(plan);
  throw beyondPlan(plan, { counted: 'profiles', fact: `The ${plan} plan has at most ${limit} profiles.` });
}

/** @throws DomainError `NOT_FOUND`, `CONFLICT` (name taken), `PLAN_REQUIRED` (too many phrases), `INVALID_REQUEST` */
export function changeProfile(
  { store, clock }: Omit<ProfileParts, 'newId'>,
  tenant: Tenant,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: IcpPatch; when?: Precondition },
): Promise<IcpProfile> {
  const plan = effectivePlan(tenant, clock.now());
  return changeUntilItHolds('profile', async () => {
    const profile = await findProfile(store, tenant.id, id);
    when(profile);
    const changed = draftProfile(profile, patch);
    const next = { ...changed, updatedAt: clock.now(), version: profile.version + 1 };
    const outcome = await store.changeProfile(next, planLimits(plan).profilePhrases);
    if (outcome === 'name_taken') throw nameTaken(next.name);
    if (outcome === 'too_many_phrases') throw tooManyPhrases(plan);
    if (outcome !== 'changed') return null;
    if (profile.offer === '') await switchDefaultOff({ store, clock }, tenant, next);
    return next;
  });
}

/**
 * Once a profile says what is sold, the untouched Default is switched off: it calls any wish to buy anything hot, 334 of 10,137
 * posts, beside the few that are for the seller, and every post is encoded for it. Whoever wants it switches it on again.
 */
async function switchDefaultOff(
  parts: Omit<ProfileParts, 'newId'>,
  tenant: Tenant,
  { id, offer, active }: IcpProfile,
): Promise<void> {
  if (offer === '' || !active) return;
  const profiles = await parts.store.listProfiles(tenant.id);
  const untouched = profiles.find((each) => each.id !== id && each.version === 1 && isDefault(each));
  if (untouched === undefined) return;
  const description = `${untouched.description} Turned off when the first profile with an offer was created.`;
  await changeProfile(parts, tenant, { id: untouched.id, patch: { active: false, description } });
}

function isDefault({ name, offer, phrases, active }: IcpProfile): boolean {
  return name === 'Default' && offer === '' && phrases.length === 0 && active;
}

/** @throws DomainError `NOT_FOUND`, `CONFLICT` where it is the last */
export async function deleteProfile(
  { store, clock }: Omit<ProfileParts, 'newId'>,
  tenantId: string,
  id: string,
  when: Precondition = UNCONDITIONAL,
): Promise<void> {
  const outcome = await changeUntilItHolds('profile', async () => {
    const profile = await findProfile(store, tenantId, id);
    when(profile);
    const deleted = await store.deleteProfile(tenantId, id, clock.now(), profile.version);
    return deleted === 'missing' ? null : deleted;
  });
  if (outcome === 'deleted') return;
  throw new DomainError(
    'CONFLICT',
    'The last profile cannot be deleted: without one, no post would become a signal.',
    {
      hint: 'Create another profile first, or change this one.',
    },
  );
}

/** @throws DomainError `NOT_FOUND` */
export async function findProfile(store: ProfileStore, tenantId: string, id: string): Promise<IcpProfile> {
  const profile = await store.getProfile(tenantId, id);
  if (profile === null) throw unknownProfile(id);
  return profile;
}

/** `profile` changed by `patch`, checked as a whole. @throws DomainError `INVALID_REQUEST` */
export function draftProfile(profile: IcpProfile, patch: IcpPatch): IcpProfile {
  const draft = patchProfile(profile, patch);
  const { hot, warm } = draft.thresholds;
  if (warm >= hot) {
    throw invalidAt('/thresholds', `"warm" (${warm}) must be below "hot" (${hot}).`);
  }
  if (Object.values(draft.weights).every((weight) => weight === 0)) {
    throw invalidAt('/weights', 'At least one weight must be above 0.');
  }
  return draft;
}

function tooManyPhrases(plan: Plan): DomainError {
  const limit = planLimits(plan).profilePhrases;
  const fact = `The ${plan} plan has at most ${limit} phrases in all profiles together, including excluded phrases and competitors.`;
  return beyondPlan(plan, { counted: 'profilePhrases', fact });
}

function nameTaken(name: string): DomainError {
  return new DomainError('CONFLICT', `A profile called "${name}" already exists.`, {
    hint: 'Names are unique, in whatever case; choose another.',
  });
}

function unknownProfile(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no profile "${id}".`);
}
