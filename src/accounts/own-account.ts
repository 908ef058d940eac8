import { type Clock, HOUR_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { CredentialsChange, NewMail } from '../model/mail.ts';
import type { Session } from '../model/tenant.ts';
import type { OpenSession } from '../store/account-store.ts';
import type { Store } from '../store/store.ts';
import { credentialsMail, MOST_OF_AN_ADDRESS, newLink, noteRefusals, sealToken } from './links.ts';
import type { Passwords, WrongPasswords } from './passwords.ts';
import { hashesElsewhere, passwordMark, tooMany } from './sign-in.ts';

export interface OwnAccountDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  /** Signs the proof that the password has just been entered. */
  cursors: Cursors;
  passwords: Passwords;
  wrongPasswords: WrongPasswords;
}

/** A signed-in user, with their client. */
export interface Self extends OpenSession {
  client: string;
}

/**
 * Changes the user's own password; all other sessions end.
 * @throws DomainError `INVALID_REQUEST` at `/old_password` or `/password`, `RATE_LIMITED`
 */
export async function changeOwnPassword(
  deps: OwnAccountDeps,
  self: Self,
  { oldPassword, password }: { oldPassword: string; password: string },
): Promise<void> {
  const { user, session, tenant } = self;
  await askPassword(deps, self, { password: oldPassword, pointer: '/old_password' });
  deps.passwords.refuseWeak(password, { email: user.email, firm: tenant.name });
  const others = await hashesElsewhere(deps.store, user);
  const passwordHash = await deps.passwords.hash(password, { client: self.client, others });
  const mail = mailOf(deps, self, 'password');
  await deps.store.changePassword({ userId: user.id, passwordHash, keep: session.tokenHash, mail });
}

/** The mail that notifies a user of a change made in their session. */
export function mailOf(
  deps: Pick<OwnAccountDeps, 'clock' | 'newId'>,
  { user, session, client }: Self,
  change: CredentialsChange,
): NewMail {
  return credentialsMail(deps, user, { change, client, browser: session.client });
}

/** Checks the user's own password. @throws DomainError `INVALID_REQUEST` at `pointer`, `RATE_LIMITED` */
export async function askPassword(
  { store, passwords, wrongPasswords }: Pick<OwnAccountDeps, 'store' | 'passwords' | 'wrongPasswords'>,
  { user, client }: Self,
  { password, pointer }: { password: string; pointer: string },
): Promise<void> {
  const wait = wrongPasswords.take(user.email, client);
  if (wait !== null) {
    if (wait.isFirst) await noteRefusals(store, [user], { client, isLocked: true });
    throw tooMany(wait.ms);
  }
  if ((await passwords.find([user.passwordHash ?? ''], password, { client })) === null) {
    await noteRefusals(store, [user], { client, isLocked: false });
    throw invalidAt(pointer, 'That is not your current password.');
  }
  wrongPasswords.forgive(user.email, client);
}

/** The user's own sessions, most recently used first. */
export function listOwnSessions({ store, clock }: OwnAccountDeps, { user }: Self): Promise<Session[]> {
  return store.listSessions(user.id, clock.now());
}

/** Ends one of the user's own sessions. @throws DomainError `NOT_FOUND` */
export async function endOwnSession({ store }: OwnAccountDeps, self: Self, id: string): Promise<void> {
  if (await store.endSessionOf(self.user.id, id, self.session.tokenHash)) return;
  throw new DomainError('NOT_FOUND', 'This session does not exist. It may already have ended.');
}

/** Ends all of the user's own sessions except the current one. */
export async function endOtherSessions({ store }: OwnAccountDeps, self: Self): Promise<void> {
  await store.endSessionOf(self.user.id, null, self.session.tokenHash);
}

const PROOF_SCOPE = 'password given';
const PROOF_MS = 10 * 60_000;

/** Proves for ten minutes that the user has just entered their password in this session: for actions that take two forms. */
export function proofOf({ clock, cursors }: Pick<OwnAccountDeps, 'clock' | 'cursors'>, self: Self): string {
  const { user, session } = self;
  return cursors.encode(PROOF_SCOPE, [session.id, passwordMark(user), clock.now() + PROOF_MS]);
}

/** Whether a proof belongs to this session and is still valid. */
export function isProven(
  { clock, cursors }: Pick<OwnAccountDeps, 'clock' | 'cursors'>,
  { user, session }: Self,
  proof: string,
): boolean {
  const [id, mark, endsAt] = cursors.decode(PROOF_SCOPE, proof) ?? [];
  return id === session.id && mark === passwordMark(user) && Number(endsAt) > clock.now();
}

const RESET_LINK_MS = HOUR_MS;

export interface ResetDeps {
  store: Pick<Store, 'usersByEmail' | 'setLink'>;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
}

/**
 * Sends a one-time link to each user of an email address who has a password: strangers must not be able to revoke an
 * invitation link. Its duration reveals whether the address is known, so the response must be sent first.
 */
export async function mailResetLinks(
  { store, clock, random, newId, secretBox }: ResetDeps,
  email: string,
): Promise<void> {
  for (const { id, tenantId, passwordHash } of await store.usersByEmail(email.trim(), MOST_OF_AN_ADDRESS)) {
    if (passwordHash === null) continue;
    const { token, link } = newLink(clock, random, RESET_LINK_MS);
    const facts = { kind: 'password_reset', userId: id, box: sealToken(secretBox, id, token) } as const;
    await store.setLink(id, link, { id: newId('mal'), tenantId, facts, createdAt: clock.now() });
  }
}
