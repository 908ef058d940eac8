import { createHash } from 'node:crypto';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import { DomainError } from '../model/errors.ts';
import { defaultProfile } from '../model/icp.ts';
import { SCOPES } from '../model/key.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import { emailInput, requiredLine } from '../model/text.ts';
import type { PlanFit, PlanTerms } from '../store/account-store.ts';
import type { Store } from '../store/store.ts';
import { type AccountDeps, newKey } from './keys.ts';
import { selfOf } from './links.ts';
import { planLimits, TRIAL_MS } from './plans.ts';
import { newSession, type SignedIn, type SignInDeps, signIn, type Trying, tokenOfLink } from './sign-in.ts';

const SETUP_LINK_MS = 7 * DAY_MS;

/** A new tenant's secrets, shown once: the owner's one-time set-up token and a full-access key. */
export interface CreatedTenant {
  tenant: Tenant;
  apiKey: string;
  setupToken: string;
}

/** The input for a new tenant. */
export interface TenantInput {
  name: string;
  email: string;
  plan: Plan;
}

/** Creates a tenant with its owner, its `Default` profile and a first full-access key, in one commit. */
export async function createTenant(deps: AccountDeps, input: TenantInput): Promise<CreatedTenant> {
  const { tenant, owner, profile, setupToken } = newTenant(deps, input);
  const { key, apiKey } = newKey(deps, { tenantId: tenant.id, name: 'First key', scopes: [...SCOPES] });
  await deps.store.createTenant({ tenant, owner, profile, key });
  return { tenant, apiKey, setupToken };
}

/** A new tenant with its owner and `Default` profile, and the token of the owner's set-up link; not yet stored. */
function newTenant({ clock, random, newId }: Omit<AccountDeps, 'store'>, input: TenantInput) {
  const now = clock.now();
  const tenant: Tenant = {
    id: newId('ten'),
    name: input.name,
    plan: input.plan,
    trialEndsAt: trialEnd(input.plan, now),
    createdAt: now,
  };
  const setupToken = random.bytes(32).toString('base64url');
  const owner = {
    id: newId('usr'),
    tenantId: tenant.id,
    email: input.email,
    setupTokenHash: createHash('sha256').update(setupToken).digest('hex'),
    setupExpiresAt: now + SETUP_LINK_MS,
    createdAt: now,
  };
  return { tenant, owner, profile: defaultProfile(newId('icp'), tenant.id, now), setupToken };
}

/** When a trial of `plan` started at `now` ends; null if the plan is not a trial. */
function trialEnd(plan: Plan, now: number): number | null {
  return plan === 'trial' ? now + TRIAL_MS : null;
}

const SCOPE = 'the first account';
const MAX_NAME_CHARS = 200;

/** The input for the first account, from a form. */
export interface FoundingInput extends Trying {
  name: string;
  email: string;
  password: string;
}

/** Whether there is no account yet. The route is public. */
export async function isUnfounded(store: Pick<Store, 'anyPassword' | 'tenantIdsAfter'>): Promise<boolean> {
  return !(await store.anyPassword()) && (await store.tenantIdsAfter('', 1)).length === 0;
}

/**
 * The token of the link that a server prints while it has no account. It depends only on the master key, so that
 * every start prints the same one; it is valid until the first account exists, which it creates.
 */
export function foundingToken(cursors: Cursors): string {
  return cursors.encode(SCOPE, ['found']);
}

/** Whether a link, or the token in it, is that of {@link foundingToken}. */
export function isFoundingLink(cursors: Cursors, link: string): boolean {
  return cursors.decode(SCOPE, tokenOfLink(link)) !== null;
}

/**
 * Creates the first account, on trial, and signs its owner in, with the link of {@link foundingToken}. If there is an
 * account already, for example after submitting the form twice, it is a log-in; null if that needs the log-in screen:
 * because the credentials differ, or for a second factor.
 * @throws DomainError `INVALID_REQUEST` at `/name`, `/email` or `/password`
 */
export async function foundAccount(
  deps: SignInDeps & AccountDeps,
  input: FoundingInput,
): Promise<Pick<SignedIn, 'token'> | null> {
  const made = (await isUnfounded(deps.store)) ? await makeFirst(deps, input) : null;
  if (made !== null) return made;
  try {
    const entered = await signIn(deps, input);
    return 'token' in entered ? entered : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Null if an account was created while the password was being hashed. */
async function makeFirst(
  deps: SignInDeps & AccountDeps,
  { name, email, password, ...from }: FoundingInput,
): Promise<Pick<SignedIn, 'token'> | null> {
  const { store, passwords } = deps;
  const named = requiredLine(MAX_NAME_CHARS).safeParse(name);
  const address = emailInput.safeParse(email);
  const errors = [
    ...(named.success ? [] : [{ pointer: '/name', detail: 'Enter a name of 1 to 200 characters.' }]),
    ...(address.success ? [] : [{ pointer: '/email', detail: 'That is not a valid email address.' }]),
  ];
  if (!named.success || !address.success) {
    throw new DomainError('INVALID_REQUEST', 'The account needs a name and a valid email address.', {
      errors,
    });
  }
  passwords.refuseWeak(password, { email: address.data, firm: named.data });
  const passwordHash = await passwords.hash(password, from);
  const input = { name: named.data, email: address.data, plan: 'trial' } as const;
  const { tenant, owner, profile } = newTenant(deps, input);
  const { token, session } = newSession(deps, from.browser);
  const change = { tenant, owner, profile, passwordHash, session };
  const isMade = await store.as(selfOf(owner, from), () => store.foundTenant(change));
  return isMade ? { token } : null;
}

const TRIALS_AT_ONCE = 100;

interface PlanDeps {
  store: Store;
  clock: Clock;
}

/**
 * Changes the plan of a tenant; a trial starts anew. Endpoints above its limit are paused and their deliveries held;
 * endpoints paused by an earlier plan are resumed as far as the limit allows. Null if there is no such tenant.
 */
export function changePlan(
  { store, clock }: PlanDeps,
  tenantId: string,
  plan: Plan,
): Promise<PlanFit | null> {
  const now = clock.now();
  return store.setPlan(tenantId, { plan, trialEndsAt: trialEnd(plan, now), terms: termsOf(plan, now) });
}

/** Moves every tenant whose trial has expired to Starter. */
export async function endTrials({ store, clock }: PlanDeps): Promise<void> {
  const now = clock.now();
  for (const tenantId of await store.listEndedTrials(now, TRIALS_AT_ONCE)) {
    await store.endTrial(tenantId, 'starter', termsOf('starter', now));
  }
}

function termsOf(plan: Plan, now: number): PlanTerms {
  const { endpoints, maxRatePerMinute } = planLimits(plan);
  return { endpoints, maxRatePerMinute, now };
}
