import { type Clock, HOUR_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Store } from '../store/store.ts';
import { MOST_OF_AN_ADDRESS, newLink, sealToken } from './links.ts';

const RESET_LINK_MS = HOUR_MS;

export interface ResetParts {
  store: Pick<Store, 'usersByEmail' | 'setLink'>;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
}

/**
 * Writes a mail with a one-time link to everybody of an address who has a password: a link that somebody was given to begin
 * with must not be ended by a stranger. How long it takes tells who is known: whoever asked is to be answered before.
 */
export async function mailResetLinks(
  { store, clock, random, newId, secretBox }: ResetParts,
  email: string,
): Promise<void> {
  for (const { id, tenantId, passwordHash } of await store.usersByEmail(email.trim(), MOST_OF_AN_ADDRESS)) {
    if (passwordHash === null) continue;
    const { token, link } = newLink(clock, random, RESET_LINK_MS);
    const facts = { kind: 'password_reset', userId: id, box: sealToken(secretBox, id, token) } as const;
    await store.setLink(id, link, { id: newId('mal'), tenantId, facts, createdAt: clock.now() });
  }
}
