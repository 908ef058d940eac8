import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import type { User } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { hashToken } from './credentials.ts';

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

/** Only commands return links of existing people; links by mail are sent with the mail. */
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

/** How long the links of a mail count. */
export const FEEDBACK_LINK_MS = 30 * DAY_MS;

/** What a link does to a signal: says whether it was relevant, or adds it to the pipeline. */
const LINK_ACTS = ['not_relevant', 'relevant', 'add'] as const;
export type LinkAct = (typeof LINK_ACTS)[number];

/** What a link of a mail or a message says when it is acted on. */
export interface MailedAct {
  tenantId: string;
  signalId: string;
  act: LinkAct;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** Whose digest ends by a link. */
export interface MailedUnsubscription {
  tenantId: string;
  userId: string;
}

/** Signed links, so that everybody who has one may do just that. */
export interface FeedbackLinks {
  /** Its address under `baseUrl`. */
  make(act: MailedAct): string;
  /** What a token says, expired or not; null where it is damaged or forged. */
  read(token: string): MailedAct | null;
  /** Where a person's digest ends; it counts for as long as the person is there. */
  makeUnsubscribe(who: MailedUnsubscription): string;
  readUnsubscribe(token: string): MailedUnsubscription | null;
}

const SCOPE = 'feedback by mail';
const UNSUBSCRIBE = 'digest ends';

/** Signed as page positions are, in scopes of their own. */
export function createFeedbackLinks(cursors: Cursors, baseUrl: string): FeedbackLinks {
  return {
    make: ({ tenantId, signalId, act, expiresAt }) =>
      `${baseUrl}/feedback/${cursors.encode(SCOPE, [tenantId, signalId, LINK_ACTS.indexOf(act), expiresAt])}`,
    read(token) {
      const said = cursors.decode(SCOPE, token);
      if (said === null) return null;
      const [tenantId, signalId, act, expiresAt] = said;
      return {
        tenantId: String(tenantId),
        signalId: String(signalId),
        act: LINK_ACTS[Number(act)] ?? 'not_relevant',
        expiresAt: Number(expiresAt),
      };
    },
    makeUnsubscribe: ({ tenantId, userId }) =>
      `${baseUrl}/digest/unsubscribe/${cursors.encode(UNSUBSCRIBE, [tenantId, userId])}`,
    readUnsubscribe(token) {
      const said = cursors.decode(UNSUBSCRIBE, token);
      return said === null ? null : { tenantId: String(said[0]), userId: String(said[1]) };
    },
  };
}
