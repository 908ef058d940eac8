import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import type { User } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { hashToken } from './tokens.ts';

/** How long a one-time link is good. */
export const LINK_MS = 7 * DAY_MS;
/** One address may belong to several tenants. */
export const MOST_OF_AN_ADDRESS = 5;

export interface LinkParts {
  store: Pick<Store, 'as' | 'firstOwner' | 'usersByEmail' | 'setLink'>;
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

/** Commands alone give out links of people who are there: what mail does is told with the mail. */
async function linkFor({ store, clock, random }: LinkParts, user: User): Promise<PasswordLink> {
  const { token, link } = newLink(clock, random, LINK_MS);
  const actor = { tenantId: user.tenantId, actor: OTHER_ACTORS.command };
  await store.as(actor, () => store.setLink(user.id, link));
  return { user, token };
}

/** A one-time link that is not stored yet: its token, and what is kept of it. */
export function newLink(clock: Clock, random: Random, lifeMs: number) {
  const token = random.bytes(32).toString('base64url');
  return { token, link: { tokenHash: hashToken(token), expiresAt: clock.now() + lifeMs } };
}

/** A one-time token as a mail keeps it: the outbox must not open accounts to who reads it. */
export function sealToken(secretBox: SecretBox, userId: string, token: string): string {
  return secretBox.seal(token, linkContext(userId)).toString('base64');
}

/** What a token of a mail is bound to. */
export function linkContext(userId: string): string {
  return `one-time link of ${userId}`;
}
