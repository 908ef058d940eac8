import { type Clock, DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { onBehalfOf, unknownOwner } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import type { Session, User } from '../model/tenant.ts';
import type { OpenSession } from '../store/account-store.ts';
import type { Store } from '../store/store.ts';
import { credentialsMail, hashToken, noteRefusals, selfOf, type Whence } from './links.ts';
import type { Passwords, WrongPasswords } from './passwords.ts';
import { spendCode, WRONG_CODE } from './second-factor.ts';

/** How long sessions last, in days: without use, and at most. */
export interface SessionLife {
  idleDays: number;
  longestDays: number;
}

/** The default. */
export const SESSION_LIFE: SessionLife = { idleDays: 14, longestDays: 60 };
/** An address may belong to owners of several tenants; the password determines which. */
const MOST_OF_AN_ADDRESS = 5;

/** The time to enter the code of the second factor. */
const CODE_MS = 5 * MINUTE_MS;
const CODE_SCOPE = 'log-in, second step';

export interface SignInDeps {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
  passwords: Passwords;
  wrongPasswords: WrongPasswords;
  /** The same for codes of the second factor, by user ID. */
  wrongCodes: WrongPasswords;
  /** Signs the state that the browser holds between the two steps of a log-in. */
  cursors: Cursors;
  secretBox: SecretBox;
  /** Default: {@link SESSION_LIFE}. */
  sessionLife?: SessionLife;
}

/** A log-in attempt, with its client. */
export interface Trying extends Whence {
  /** Runs work in the background, after the response. */
  afterwards(work: () => Promise<void>): void;
}

/** A new session; `token` is kept by the browser, and only its hash is stored. */
export interface SignedIn {
  user: User;
  token: string;
}

/** The password was correct, and a code is required; `pending` proves the former for five minutes. */
export interface HalfSignedIn {
  user: User;
  pending: string;
}

/**
 * Sets the password of the user that a one-time link belongs to, and signs them in; null if log-in requires a code as
 * well.
 * @throws DomainError `INVALID_REQUEST` at `/token` (used, expired, mistyped) or `/password` (too short, too easy to
 * guess)
 */
export async function usePasswordLink(
  deps: SignInDeps,
  { link, password, ...from }: Whence & { link: string; password: string },
): Promise<SignedIn | null> {
  const { store, clock, passwords } = deps;
  const linkHash = hashToken(tokenOfLink(link));
  const user = await store.userOfLink(linkHash, clock.now());
  if (user === null) throw spentLink();
  const tenant = await store.getTenant(user.tenantId);
  passwords.refuseWeak(password, { email: user.email, firm: tenant?.name ?? '' });
  const others = await hashesElsewhere(store, user);
  const passwordHash = await passwords.hash(password, { client: from.client, others });
  const { token, session } = newSession(deps, from.browser);
  const isFirst = user.passwordHash === null;
  const mail = isFirst ? undefined : credentialsMail(deps, user, { change: 'password_by_link', ...from });
  const begun = user.hasSecondFactor ? null : session;
  const change = { linkHash, passwordHash, session: begun, now: clock.now(), mail };
  const changed = await store.as(selfOf(user, from), () => store.setPasswordByLink(change));
  if (changed === null) throw spentLink();
  return user.hasSecondFactor ? null : { user: changed, token };
}

/** The token in a link; other input is returned as is: users paste either. */
export function tokenOfLink(link: string): string {
  return /token=([\w-]+)/.exec(link)?.[1] ?? link.trim();
}

/** The error for a link that is no longer valid. */
function spentLink(): DomainError {
  const detail =
    'This link is no longer valid. A link works once, for a limited time, and a newer one replaces it.';
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/token', detail }] });
}

/**
 * Starts a session for the correct password of an address, or returns the first half of it if a code is required.
 * @throws DomainError `UNAUTHENTICATED`, the same whether the address is known or not; `RATE_LIMITED` after wrong
 * passwords
 */
export async function signIn(
  deps: SignInDeps,
  { email, password, ...from }: Trying & { email: string; password: string },
): Promise<SignedIn | HalfSignedIn> {
  const { store, clock, passwords, wrongPasswords, cursors } = deps;
  const { client } = from;
  const wait = wrongPasswords.take(email, client);
  if (wait !== null) {
    if (wait.isFirst) {
      from.afterwards(async () => {
        const tried = await store.usersByEmail(email.trim(), MOST_OF_AN_ADDRESS);
        await noteRefusals(store, tried, { client, isLocked: true });
      });
    }
    throw tooMany(wait.ms);
  }
  const users = (await store.usersByEmail(email.trim(), MOST_OF_AN_ADDRESS)).filter(
    ({ passwordHash }) => passwordHash !== null,
  );
  const hashes = users.map(({ passwordHash }) => passwordHash ?? '');
  const found = await passwords.find(hashes, password, { client });
  const user = found === null ? undefined : users[found];
  if (user === undefined) {
    from.afterwards(() => noteRefusals(store, users, { client, isLocked: false }));
    throw new DomainError('UNAUTHENTICATED', 'Incorrect email or password.');
  }
  wrongPasswords.forgive(email, client);
  if (!user.hasSecondFactor) return await beginSession(deps, user, from);
  const position = [user.tenantId, user.id, clock.now() + CODE_MS, passwordMark(user)];
  return { user, pending: cursors.encode(CODE_SCOPE, position) };
}

/**
 * The second step of a log-in: starts the session if the code is correct.
 * @throws DomainError `UNAUTHENTICATED` if the code is wrong or the first step has expired; `RATE_LIMITED`
 */
export async function finishSignIn(
  deps: SignInDeps,
  { pending, code, ...from }: Trying & { pending: string; code: string },
): Promise<SignedIn> {
  const { store, clock, cursors, wrongCodes } = deps;
  const { client } = from;
  const [tenantId, userId, endsAt, mark] = cursors.decode(CODE_SCOPE, pending) ?? [];
  const user = await store.getMember(String(tenantId), String(userId));
  if (user === null || Number(endsAt) <= clock.now() || passwordMark(user) !== mark) {
    throw new DomainError('UNAUTHENTICATED', 'Your login has expired. Log in again.', {
      members: { again: true },
    });
  }
  const wait = wrongCodes.take(user.id, client);
  if (wait !== null) {
    if (wait.isFirst) from.afterwards(() => noteRefusals(store, [user], { client, isLocked: true }));
    throw tooMany(wait.ms);
  }
  if (!(await store.as(selfOf(user, from), () => spendCode(deps, user.id, code)))) {
    from.afterwards(() => noteRefusals(store, [user], { client, isLocked: false }));
    throw new DomainError('UNAUTHENTICATED', WRONG_CODE);
  }
  wrongCodes.forgive(user.id, client);
  return await beginSession(deps, user, from);
}

async function beginSession(deps: SignInDeps, user: User, from: Whence): Promise<SignedIn> {
  const { store } = deps;
  const { token, session } = newSession(deps, from.browser);
  await store.as(selfOf(user, from), () => store.createSession({ ...session, userId: user.id }));
  return { user, token };
}

/**
 * The password hashes of the same address in other tenants: they share a salt, so that a log-in computes one hash for
 * all.
 */
export async function hashesElsewhere(store: Pick<Store, 'usersByEmail'>, user: User): Promise<string[]> {
  const same = await store.usersByEmail(user.email, MOST_OF_AN_ADDRESS);
  return same.flatMap(({ id, passwordHash }) =>
    id === user.id || passwordHash === null ? [] : [passwordHash],
  );
}

/** Changes with the password: a log-in started with the previous one becomes invalid. */
export function passwordMark({ passwordHash }: User): string {
  return hashToken(passwordHash ?? '').slice(0, 16);
}

/** The session of a browser's token; null if there is no valid one. Using it extends it. Look-ups take turns by session. */
export async function openSession(
  { store, clock, sessionLife = SESSION_LIFE }: Pick<SignInDeps, 'store' | 'clock' | 'sessionLife'>,
  token: string,
): Promise<OpenSession | null> {
  const now = clock.now();
  const hash = hashToken(token);
  const found = await onBehalfOf(unknownOwner(hash), () => store.findSession(hash, now));
  if (found === null) return null;
  const { session } = found;
  if (now - session.seenAt >= MINUTE_MS) {
    const expiresAt = expiryOf(session.createdAt, now, sessionLife);
    // Failing to record its use is no reason to fail the request.
    await store.touchSession(session.tokenHash, { seenAt: now, expiresAt }).catch(() => undefined);
  }
  return found;
}

function expiryOf(createdAt: number, now: number, { idleDays, longestDays }: SessionLife): number {
  return Math.min(now + idleDays * DAY_MS, createdAt + longestDays * DAY_MS);
}

/** Ends a session; idempotent. */
export async function signOut({ store }: Pick<SignInDeps, 'store'>, token: string): Promise<void> {
  await store.endSession(hashToken(token));
}

/** A session that starts now, not yet stored, and the token for its browser. */
export function newSession(
  { clock, random, sessionLife = SESSION_LIFE }: Pick<SignInDeps, 'clock' | 'random' | 'sessionLife'>,
  browser: string,
): { token: string; session: Omit<Session, 'userId'> } {
  const token = random.bytes(32).toString('base64url');
  const now = clock.now();
  return {
    token,
    session: {
      tokenHash: hashToken(token),
      id: random.bytes(12).toString('hex'),
      client: browser,
      createdAt: now,
      seenAt: now,
      expiresAt: expiryOf(now, now, sessionLife),
    },
  };
}

/** The error for one attempt too many. */
export function tooMany(waitMs: number): DomainError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const minutes = Math.ceil(seconds / 60);
  return new DomainError(
    'RATE_LIMITED',
    `Too many attempts. Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, then try again.`,
    { retryAfterSeconds: seconds },
  );
}
