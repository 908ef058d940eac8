import type { Cursors } from '../lib/cursor.ts';
import { DomainError } from '../model/errors.ts';
import { emailInput, requiredLine } from '../model/text.ts';
import type { Store } from '../store/store.ts';
import { selfOf } from './credentials.ts';
import { newSession, type SignedIn, type SignInParts, signIn, type Trying, tokenOfLink } from './sign-in.ts';
import { type AccountParts, newTenant } from './tenants.ts';

const SCOPE = 'the first account';
const MAX_NAME_CHARS = 200;

/** What the first account is made of, as a form has it. */
export interface FoundingInput extends Trying {
  name: string;
  email: string;
  password: string;
}

/** Whether there is no account yet. Anybody may ask, so that tenants are listed only while nobody can log in. */
export async function isUnfounded(store: Pick<Store, 'anyPassword' | 'listTenants'>): Promise<boolean> {
  return !(await store.anyPassword()) && (await store.listTenants()).length === 0;
}

/**
 * The token of the link that a server prints while it has no account. It hangs on the master key alone, so that each start
 * prints the same; it counts until there is an account, of which it makes one.
 */
export function foundingToken(cursors: Cursors): string {
  return cursors.encode(SCOPE, ['found']);
}

/** Whether a link, or the token in it, is the one of {@link foundingToken}. */
export function isFoundingLink(cursors: Cursors, link: string): boolean {
  return cursors.decode(SCOPE, tokenOfLink(link)) !== null;
}

/**
 * Makes the first account, on trial, and signs its owner in, for whoever has the link of {@link foundingToken}. Where there
 * is an account already, as after a form that was sent twice, it is a log-in; null where that needs the log-in screen: other
 * words than the account's, or a second factor.
 * @throws DomainError `INVALID_REQUEST` at `/name`, `/email` or `/password`
 */
export async function foundAccount(
  parts: SignInParts & AccountParts,
  input: FoundingInput,
): Promise<Pick<SignedIn, 'token'> | null> {
  const made = (await isUnfounded(parts.store)) ? await makeFirst(parts, input) : null;
  if (made !== null) return made;
  try {
    const entered = await signIn(parts, input);
    return 'token' in entered ? entered : null;
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Null where there was an account by the time its password was hashed. */
async function makeFirst(
  parts: SignInParts & AccountParts,
  { name, email, password, ...from }: FoundingInput,
): Promise<Pick<SignedIn, 'token'> | null> {
  const { store, passwords } = parts;
  const named = requiredLine(MAX_NAME_CHARS).safeParse(name);
  const address = emailInput.safeParse(email);
  const errors = [
    ...(named.success ? [] : [{ pointer: '/name', detail: 'A name of 1 to 200 characters is needed.' }]),
    ...(address.success ? [] : [{ pointer: '/email', detail: 'That is no mail address.' }]),
  ];
  if (!named.success || !address.success) {
    throw new DomainError('INVALID_REQUEST', 'Say who the account is for.', { errors });
  }
  passwords.refuseWeak(password, { email: address.data, firm: named.data });
  const passwordHash = await passwords.hash(password);
  const input = { name: named.data, email: address.data, plan: 'trial' } as const;
  const { tenant, owner, profile } = newTenant(parts, input);
  const { token, session } = newSession(parts, from.browser);
  const change = { tenant, owner, profile, passwordHash, session };
  const isMade = await store.as(selfOf(owner, from), () => store.foundTenant(change));
  return isMade ? { token } : null;
}
