import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { NewMail } from '../model/mail.ts';
import type { Role, Tenant, User } from '../model/tenant.ts';
import { emailInput } from '../model/text.ts';
import type { Store } from '../store/store.ts';
import { LINK_MS, newLink, sealToken } from './links.ts';
import type { MailLimits } from './mail.ts';

/** Far more than any team has, and few enough for one page. */
const MOST_MEMBERS = 200;

export interface TeamDeps {
  store: Pick<Store, 'addMember' | 'getMember' | 'changeRole' | 'removeMember' | 'setLink'>;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
  mailLimits: MailLimits;
}

/** An invited user; `token` belongs to the one-time link for choosing a password, and only its hash is stored. */
export interface Invited {
  user: User;
  token: string;
}

/**
 * Invites a user to the tenant, by email and with a link that can be passed on.
 * @throws DomainError `INVALID_REQUEST` at `/email`, `CONFLICT` if there are too many, `RATE_LIMITED`
 */
export async function inviteMember(
  deps: TeamDeps,
  tenant: Tenant,
  { email, role }: { email: string; role: Role },
): Promise<Invited> {
  const { store, clock, random, newId, mailLimits } = deps;
  const address = emailInput.safeParse(email);
  if (!address.success) throw invalidAt('/email', 'That is not a valid email address.');
  await mailLimits.invite(tenant.id, address.data);
  const { token, link } = newLink(clock, random, LINK_MS);
  const user: User = {
    ...{ id: newId('usr'), tenantId: tenant.id, email: address.data, role },
    ...{ passwordHash: null, hasSecondFactor: false, createdAt: clock.now() },
  };
  const mail = invitationMail(deps, tenant, { user, token });
  const outcome = await store.addMember({ user, link, mail }, MOST_MEMBERS);
  if (outcome === 'known') throw invalidAt('/email', `${address.data} is already on the team.`);
  if (outcome === 'full') {
    throw new DomainError('CONFLICT', `A team has at most ${MOST_MEMBERS} people.`, {
      hint: 'Remove a member who has left.',
    });
  }
  return { user, token };
}

/**
 * Creates a new link for a user who has not used the previous one.
 * @throws DomainError `NOT_FOUND`, `CONFLICT` (has a password), `RATE_LIMITED`
 */
export async function renewInvitation(deps: TeamDeps, tenant: Tenant, id: string): Promise<Invited> {
  const { store, clock, random, mailLimits } = deps;
  const user = await store.getMember(tenant.id, id);
  if (user === null) throw noMember(id);
  if (user.passwordHash !== null) {
    throw new DomainError('CONFLICT', `${user.email} already has a password and can log in with it.`);
  }
  await mailLimits.invite(tenant.id, user.email);
  const { token, link } = newLink(clock, random, LINK_MS);
  const mail = invitationMail(deps, tenant, { user, token });
  if (!(await store.setLink(id, link, mail))) throw noMember(id);
  return { user, token };
}

/** @throws DomainError `NOT_FOUND`, `CONFLICT` for the last owner */
export async function changeRole(
  { store }: TeamDeps,
  tenant: Tenant,
  { id, role }: { id: string; role: Role },
): Promise<void> {
  const outcome = await store.changeRole(tenant.id, id, role);
  if (outcome === 'missing') throw noMember(id);
  if (outcome === 'last_owner') throw lastOwner();
}

/** Removes a user; their sessions end at once. @throws DomainError `NOT_FOUND`, `CONFLICT` for the last owner */
export async function removeMember({ store }: TeamDeps, tenant: Tenant, id: string): Promise<void> {
  const outcome = await store.removeMember(tenant.id, id);
  if (outcome === 'missing') throw noMember(id);
  if (outcome === 'last_owner') throw lastOwner();
}

function invitationMail(
  { clock, newId, secretBox }: TeamDeps,
  tenant: Tenant,
  { user: { id: userId, role }, token }: Invited,
): NewMail {
  const facts = {
    kind: 'invitation',
    ...{ userId, tenant: tenant.name, role, box: sealToken(secretBox, userId, token) },
  } as const;
  return { id: newId('mal'), tenantId: tenant.id, facts, createdAt: clock.now() };
}

function noMember(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no member "${id}".`);
}

function lastOwner(): DomainError {
  return new DomainError('CONFLICT', 'The account must keep an owner; nothing was changed.', {
    hint: 'Make another member an owner first, and have them choose a password.',
  });
}
