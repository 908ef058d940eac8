import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { User } from '../model/user.ts';
import type { SessionStore } from '../store/session-store.ts';
import { hashToken } from './sign-in.ts';

/** How long a one-time link is good. */
export const LINK_MS = 7 * 24 * 3_600_000;
const MOST_OF_AN_ADDRESS = 5;

interface LinkParts {
  store: SessionStore;
  clock: Clock;
  random: Random;
}

/** A one-time link's token, told here and nowhere kept. */
export interface PasswordLink {
  user: User;
  token: string;
}

/** A new link for a tenant's owner; the one before counts no more. Null where there is no such tenant. */
export async function renewSetupLink(parts: LinkParts, tenantId: string): Promise<PasswordLink | null> {
  const user = await parts.store.firstOwner(tenantId);
  return user === null ? null : await linkFor(parts, user);
}

/** New links for everybody of an address: one for each tenant that it belongs to. */
export async function renewResetLinks(parts: LinkParts, email: string): Promise<PasswordLink[]> {
  const links: PasswordLink[] = [];
  for (const user of await parts.store.usersByEmail(email, MOST_OF_AN_ADDRESS)) {
    links.push(await linkFor(parts, user));
  }
  return links;
}

async function linkFor({ store, clock, random }: LinkParts, user: User): Promise<PasswordLink> {
  const token = random.bytes(32).toString('base64url');
  await store.setLink(user.id, { tokenHash: hashToken(token), expiresAt: clock.now() + LINK_MS });
  return { user, token };
}
