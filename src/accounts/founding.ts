import type { Cursors } from '../lib/cursor.ts';
import { DomainError } from '../model/errors.ts';
import { emailInput, requiredLine } from '../model/text.ts';
import type { Store } from '../store/store.ts';
import { refuseWeakPassword } from './passwords.ts';
import { type SignedIn, type SignInParts, spentLink, tokenOfLink, usePasswordLink } from './sign-in.ts';
import { type AccountParts, createTenantWithoutKey } from './tenants.ts';

const SCOPE = 'the first account';
const MAX_NAME_CHARS = 200;

/** What the first account is made of, as a form has it. */
export interface FoundingInput {
  link: string;
  name: string;
  email: string;
  password: string;
  /** The browser in words. */
  browser: string;
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

/**
 * Makes the first account, on trial, and signs its owner in.
 * @throws DomainError `INVALID_REQUEST` at `/token` (spent, mistyped), `/name`, `/email` or `/password`
 */
export async function foundAccount(
  parts: SignInParts & AccountParts,
  { link, name, email, password, browser }: FoundingInput,
): Promise<SignedIn | null> {
  const isOurs = parts.cursors.decode(SCOPE, tokenOfLink(link)) !== null;
  if (!isOurs || !(await isUnfounded(parts.store))) throw spentLink();
  const named = requiredLine(MAX_NAME_CHARS).safeParse(name);
  const address = emailInput.safeParse(email);
  const errors = [
    ...(named.success ? [] : [{ pointer: '/name', detail: 'A name of 1 to 200 characters is needed.' }]),
    ...(address.success ? [] : [{ pointer: '/email', detail: 'That is no mail address.' }]),
  ];
  if (!named.success || !address.success) {
    throw new DomainError('INVALID_REQUEST', 'Say who the account is for.', { errors });
  }
  refuseWeakPassword(password, address.data);
  const input = { name: named.data, email: address.data, plan: 'trial' } as const;
  const { setupToken } = await createTenantWithoutKey(parts, input);
  return await usePasswordLink(parts, { link: setupToken, password, browser });
}
