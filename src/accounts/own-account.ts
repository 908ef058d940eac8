import type { Clock } from '../lib/clock.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { Session, User } from '../model/user.ts';
import type { OpenSession } from '../store/session-store.ts';
import type { Store } from '../store/store.ts';
import type { Passwords } from './passwords.ts';
import { hashesElsewhere, tooMany } from './sign-in.ts';
import type { WrongPasswords } from './wrong-passwords.ts';

export interface OwnAccountParts {
  store: Store;
  clock: Clock;
  passwords: Passwords;
  wrongPasswords: WrongPasswords;
}

/** Who is signed in, and from where they ask. */
export interface Self extends OpenSession {
  client: string;
}

/**
 * Changes one's own password; every other session ends.
 * @throws DomainError `INVALID_REQUEST` at `/old_password` or `/password`, `RATE_LIMITED`
 */
export async function changeOwnPassword(
  parts: OwnAccountParts,
  self: Self,
  { oldPassword, password }: { oldPassword: string; password: string },
): Promise<void> {
  const { user, session, tenant } = self;
  await askPassword(parts, self, { password: oldPassword, pointer: '/old_password' });
  parts.passwords.refuseWeak(password, { email: user.email, firm: tenant.name });
  const elsewhere = await hashesElsewhere(parts.store, user);
  const passwordHash = await parts.passwords.hash(password, elsewhere);
  await parts.store.changePassword({ userId: user.id, passwordHash, keep: session.tokenHash });
}

/** Lets go on who knows their own password. @throws DomainError `INVALID_REQUEST` at `pointer`, `RATE_LIMITED` */
export async function askPassword(
  { passwords, wrongPasswords }: Pick<OwnAccountParts, 'passwords' | 'wrongPasswords'>,
  { user, client }: Pick<Self, 'client'> & { user: User },
  { password, pointer }: { password: string; pointer: string },
): Promise<void> {
  const wait = wrongPasswords.take(user.email, client);
  if (wait !== null) throw tooMany(wait.ms);
  if ((await passwords.find([user.passwordHash ?? ''], password)) === null) {
    throw invalidAt(pointer, 'That is not your password.');
  }
  wrongPasswords.forgive(user.email, client);
}

/** Where one is signed in, the last used first. */
export function listOwnSessions({ store, clock }: OwnAccountParts, { user }: Self): Promise<Session[]> {
  return store.listSessions(user.id, clock.now());
}

/** Ends one of one's own sessions. @throws DomainError `NOT_FOUND` */
export async function endOwnSession({ store }: OwnAccountParts, self: Self, id: string): Promise<void> {
  if (await store.endSessionOf(self.user.id, id, self.session.tokenHash)) return;
  throw new DomainError('NOT_FOUND', 'There is no such session; it may have ended by itself.');
}

/** Ends all of one's own sessions but this one. */
export async function endOtherSessions({ store }: OwnAccountParts, self: Self): Promise<void> {
  await store.endSessionOf(self.user.id, null, self.session.tokenHash);
}
