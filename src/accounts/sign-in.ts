import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { DomainError } from '../model/errors.ts';
import type { Session, User } from '../model/user.ts';
import type { OpenSession, SessionStore } from '../store/session-store.ts';
import { type Passwords, refuseWeakPassword } from './passwords.ts';
import type { WrongPasswords } from './wrong-passwords.ts';

const DAY_MS = 24 * 3_600_000;
const MINUTE_MS = 60_000;
/** A session that is not used for so long ends, and after the second figure however much it is used. */
const IDLE_MS = 14 * DAY_MS;
const LONGEST_MS = 60 * DAY_MS;
/** One address may be an owner of several tenants; the password tells which. */
const MOST_OF_AN_ADDRESS = 5;

export interface SignInParts {
  store: SessionStore;
  clock: Clock;
  random: Random;
  passwords: Passwords;
  wrongPasswords: WrongPasswords;
}

/** A session just begun; `token` is what the browser holds, told here and nowhere kept. */
export interface SignedIn {
  user: User;
  token: string;
}

/** What a browser holds, as it is looked up. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/**
 * Sets the password of whoever a one-time link belongs to, and signs in.
 * @throws DomainError `INVALID_REQUEST` at `/token` (used, old, mistyped) or `/password` (too short, too easy)
 */
export async function usePasswordLink(
  { store, clock, random, passwords }: SignInParts,
  { link, password }: { link: string; password: string },
): Promise<SignedIn> {
  const linkHash = hashToken(tokenOfLink(link));
  const user = await store.userOfLink(linkHash, clock.now());
  if (user === null) throw spentLink();
  refuseWeakPassword(password, user.email);
  const passwordHash = await passwords.hash(password);
  const { token, session } = newSession(clock, random);
  const changed = await store.setPasswordByLink({ linkHash, passwordHash, session, now: clock.now() });
  if (changed === null) throw spentLink();
  return { user: changed, token };
}

/** The token in a link, or what was typed where it is none: people paste either. */
function tokenOfLink(link: string): string {
  return /token=([\w-]+)/.exec(link)?.[1] ?? link.trim();
}

function spentLink(): DomainError {
  const detail =
    'This link is not valid any more: it works once, for 7 days, and a newer one takes its place.';
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/token', detail }] });
}

/**
 * Begins a session for who knows the password of an address.
 * @throws DomainError `UNAUTHENTICATED`, the same whether the address is known or not; `RATE_LIMITED` after wrong ones
 */
export async function signIn(
  { store, clock, random, passwords, wrongPasswords }: SignInParts,
  { email, password, client }: { email: string; password: string; client: string },
): Promise<SignedIn> {
  const waitMs = wrongPasswords.take(email, client);
  if (waitMs !== null) throw tooMany(waitMs);
  const users = (await store.usersByEmail(email.trim(), MOST_OF_AN_ADDRESS)).filter(
    ({ passwordHash }) => passwordHash !== null,
  );
  let user: User | null = null;
  for (const candidate of users.length === 0 ? [null] : users) {
    const isRight = await passwords.verify(candidate?.passwordHash ?? null, password);
    if (isRight && user === null) user = candidate;
  }
  if (user === null) throw new DomainError('UNAUTHENTICATED', 'That email and password do not fit together.');
  wrongPasswords.forgive(email, client);
  const { token, session } = newSession(clock, random);
  await store.createSession({ ...session, userId: user.id });
  return { user, token };
}

/** The session that a browser's token stands for; null where it is none that is in force. Its use prolongs it. */
export async function openSession(
  { store, clock }: Pick<SignInParts, 'store' | 'clock'>,
  token: string,
): Promise<OpenSession | null> {
  const now = clock.now();
  const found = await store.findSession(hashToken(token), now);
  if (found === null) return null;
  const { session } = found;
  if (now - session.seenAt >= MINUTE_MS) {
    const expiresAt = Math.min(now + IDLE_MS, session.createdAt + LONGEST_MS);
    // That its use could not be written is no reason to fail the request.
    await store.touchSession(session.tokenHash, { seenAt: now, expiresAt }).catch(() => undefined);
  }
  return found;
}

/** Ends a session; again changes nothing. */
export async function signOut({ store }: Pick<SignInParts, 'store'>, token: string): Promise<void> {
  await store.endSession(hashToken(token));
}

function newSession(clock: Clock, random: Random): { token: string; session: Omit<Session, 'userId'> } {
  const token = random.bytes(32).toString('base64url');
  const now = clock.now();
  return {
    token,
    session: { tokenHash: hashToken(token), createdAt: now, seenAt: now, expiresAt: now + IDLE_MS },
  };
}

function tooMany(waitMs: number): DomainError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const minutes = Math.ceil(seconds / 60);
  return new DomainError(
    'RATE_LIMITED',
    `Too many tries. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`,
    { retryAfterSeconds: seconds },
  );
}
