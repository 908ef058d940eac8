import { beyondPlan, effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { createYielder, inTurns } from '../lib/yielding.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import { defaultProfile, type IcpInput, type IcpPatch, type IcpProfile, patchProfile } from '../model/icp.ts';
import type { Preview, PreviewedPost, PreviewInput, Scored } from '../model/icp-draft.ts';
import type { Classification, Signal } from '../model/signal.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { ProfileStore } from '../store/profile-store.ts';
import type { SignalStore, StoredPost } from '../store/signal-store.ts';
import type { Encoder, Encoding } from './encoder/encoder.ts';
import { addMeaning } from './meaning.ts';
import { originOf } from './origin.ts';
import { compilePhrases, type PhraseMatcher } from './phrases.ts';
import { type CompiledProfile, classify, compileProfile, readPost, scorePost } from './score.ts';
import { tryOnPosts } from './trials.ts';

export interface ProfileDeps {
  store: ProfileStore;
  clock: Clock;
  newId: NewId;
}

/**
 * @throws DomainError `CONFLICT` (name taken), `PLAN_REQUIRED` (too many profiles or phrases),
 * `INVALID_REQUEST`
 */
export async function createProfile(
  { store, clock, newId }: ProfileDeps,
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

/**
 * @throws DomainError `NOT_FOUND`, `CONFLICT` (name taken), `PLAN_REQUIRED` (too many phrases),
 * `INVALID_REQUEST`
 */
export function changeProfile(
  { store, clock }: Omit<ProfileDeps, 'newId'>,
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
 * Turns off the unmodified default profile once another profile has an offer. The default profile classifies
 * any intent to buy as hot, 334 of 10,137 posts, next to the few that suit the seller, and every post is
 * encoded for it. It can be turned on again.
 */
async function switchDefaultOff(
  deps: Omit<ProfileDeps, 'newId'>,
  tenant: Tenant,
  { id, offer, active }: IcpProfile,
): Promise<void> {
  if (offer === '' || !active) return;
  const profiles = await deps.store.listProfiles(tenant.id);
  const untouched = profiles.find((each) => each.id !== id && each.version === 1 && isDefault(each));
  if (untouched === undefined) return;
  const description = `${untouched.description} Turned off when the first profile with an offer was created.`;
  await changeProfile(deps, tenant, { id: untouched.id, patch: { active: false, description } });
}

function isDefault({ name, offer, phrases, active }: IcpProfile): boolean {
  return name === 'Default' && offer === '' && phrases.length === 0 && active;
}

/** @throws DomainError `NOT_FOUND`, `CONFLICT` if it is the last profile */
export async function deleteProfile(
  { store, clock }: Omit<ProfileDeps, 'newId'>,
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

/** Applies `patch` to `profile` and validates the result. @throws DomainError `INVALID_REQUEST` */
function draftProfile(profile: IcpProfile, patch: IcpPatch): IcpProfile {
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
    hint: 'Names must be unique, regardless of case. Choose another.',
  });
}

function unknownProfile(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no profile "${id}".`);
}

/** A post that matched several profiles has several signals: number of signals to read per post. */
const SIGNALS_A_POST = 3;

export interface PreviewDeps {
  store: ProfileStore & SignalStore;
  clock: Clock;
  encoder?: Encoder | null;
}

/**
 * Scores the newest stored posts with a draft.
 * @throws DomainError `NOT_FOUND` (profile), `INVALID_REQUEST`, `UNAVAILABLE`
 */
export function previewProfile(deps: PreviewDeps, tenantId: string, input: PreviewInput): Promise<Preview> {
  return tryOnPosts(tenantId, () => previewNow(deps, tenantId, input));
}

async function previewNow(
  { store, clock, encoder = null }: PreviewDeps,
  tenantId: string,
  { icp_profile_id: baseId, limit, ...patch }: PreviewInput,
): Promise<Preview> {
  const base =
    baseId === undefined
      ? { ...defaultProfile('', tenantId, clock.now()), name: 'Draft' }
      : await findProfile(store, tenantId, baseId);
  const draft = await compileDraft(draftProfile(base, patch));
  const signals = await store.listPosts(tenantId, limit * SIGNALS_A_POST);
  const nextTurn = createYielder(clock);
  const chosen = (await onePerPost(signals, baseId ?? null, nextTurn)).slice(0, limit);

  const posts: PreviewedPost[] = [];
  const encoding = encoder?.begin({ owner: tenantId, kind: 'single' }) ?? null;
  try {
    encoding?.expect(chosen.length);
    for (const signal of chosen) {
      posts.push(await previewPost(signal, draft, encoding));
      await nextTurn();
    }
  } finally {
    encoding?.end();
  }
  return { posts, counts: countsOf(posts) };
}

interface CompiledDraft {
  compiled: CompiledProfile;
  matcher: PhraseMatcher;
}

async function compileDraft(profile: IcpProfile): Promise<CompiledDraft> {
  const compiled = await inTurns(compileProfile(profile));
  return { compiled, matcher: await inTurns(compilePhrases([profile])) };
}

/** One signal per post: that of the edited profile, otherwise the best one. Newest first. Yields when due. */
async function onePerPost(
  signals: readonly StoredPost[],
  baseId: IcpProfile['id'] | null,
  nextTurn: () => Promise<void>,
): Promise<StoredPost[]> {
  const chosen = new Map<string, StoredPost>();
  for (const signal of signals) {
    await nextTurn();
    const key = postKey(signal);
    const known = chosen.get(key);
    if (known === undefined || isBetter(signal, known, baseId)) chosen.set(key, signal);
  }
  return [...chosen.values()];
}

function isBetter(signal: StoredPost, known: StoredPost, baseId: string | null): boolean {
  if (known.profileId === baseId) return false;
  return signal.profileId === baseId || signal.score > known.score;
}

/** Identifies a post by ID or URL, or by its text if it has neither. */
export function postKey({ platform, externalId, canonicalUrl, text }: StoredPost): string {
  return JSON.stringify([platform, externalId ?? canonicalUrl ?? text]);
}

/**
 * Uses the age of the post when it was found: otherwise every draft would score lower than the stored
 * signals.
 */
async function previewPost(
  { id, score, classification, wire, text, relevant }: StoredPost,
  { compiled, matcher }: CompiledDraft,
  encoder: Encoding | null,
): Promise<PreviewedPost> {
  const { excerpt, prospect, company, platform, timestamp, signal_type: type } = JSON.parse(wire) as Signal;
  const ageMs = platform.posted_at === '' ? null : Date.parse(timestamp) - Date.parse(platform.posted_at);
  const { name: companyName, industry, headcount, location } = company;
  const origin = originOf(prospect, platform);
  const facts = {
    text,
    type,
    ageMs,
    origin,
    title: prospect.title,
    companyName,
    industry,
    headcount,
    location,
  };
  const words = readPost(facts, encoder !== null);
  const hits = matcher.match(words.tokens).get(0) ?? [];
  const reading = await addMeaning(words, [{ compiled, hits }], { encoder });
  const explanation = scorePost(reading, compiled, hits);
  const next = classify(explanation.score, compiled.profile.thresholds);
  return {
    signal_id: id,
    excerpt,
    old: { score, classification: classification as Classification },
    new: { score: explanation.score, classification: next },
    explanation,
    relevant,
  };
}

function countsOf(posts: readonly PreviewedPost[]): Preview['counts'] {
  const count = (test: (post: PreviewedPost) => boolean) => posts.filter(test).length;
  const classes = (of: (post: PreviewedPost) => Scored) => ({
    hot: count((post) => of(post).classification === 'hot'),
    warm: count((post) => of(post).classification === 'warm'),
    cold: count((post) => of(post).classification === 'cold'),
  });
  return {
    posts: posts.length,
    old: classes((post) => post.old),
    new: classes((post) => post.new),
    up: count((post) => post.new.score > post.old.score),
    down: count((post) => post.new.score < post.old.score),
    unchanged: count((post) => post.new.score === post.old.score),
  };
}
