import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { networkOf } from '../lib/network.ts';
import { type AuditActor, OTHER_ACTORS } from '../model/audit.ts';
import type { CredentialsChange, NewMail } from '../model/mail.ts';
import type { User } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';

/** Where somebody is who logs in or changes what they log in with. */
export interface Whence {
  /** The client's address, as it is counted. */
  client: string;
  /** The browser in words. */
  browser: string;
}

/** A person as the doer of what they do before they are signed in. */
export function selfOf(
  { tenantId, id }: Pick<User, 'tenantId' | 'id'>,
  { client }: Pick<Whence, 'client'>,
): AuditActor {
  return { tenantId, actor: id, client: networkOf(client) };
}

/** The mail that tells a person that what they log in with was changed, to be stored with that change. */
export function credentialsMail(
  { clock, newId }: { clock: Clock; newId: NewId },
  { id: userId, tenantId }: User,
  { change, client, browser }: Whence & { change: CredentialsChange },
): NewMail {
  const at = clock.now();
  const facts = {
    kind: 'credentials_changed',
    userId,
    change,
    at,
    browser,
    network: networkOf(client),
  } as const;
  return { id: newId('mal'), tenantId, facts, createdAt: at };
}

/**
 * Tells the audit list of each person's tenant that somebody was refused in their name. To be called once the answer is on its
 * way: for who is not known there is nothing to write, and the time that it takes would tell them apart.
 */
export async function noteRefusals(
  store: Pick<Store, 'as' | 'noteRefusal'>,
  users: readonly User[],
  { client, isLocked }: { client: string; isLocked: boolean },
): Promise<void> {
  for (const { id: userId, tenantId } of users) {
    const actor = { tenantId, actor: OTHER_ACTORS.stranger, client: networkOf(client) };
    await store.as(actor, () => store.noteRefusal({ userId, isLocked }));
  }
}

/** What a browser, a link or a recovery code holds, as it is kept and looked up: SHA-256, hex. 80 random bits need no slow hash. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
