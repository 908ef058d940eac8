import { createHash } from 'node:crypto';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { NewId } from '../lib/ids.ts';
import { networkOf } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { type AuditActor, OTHER_ACTORS } from '../model/audit.ts';
import type { CredentialsChange, NewMail } from '../model/mail.ts';
import type { User } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';

/** How long a one-time link is good. */
export const LINK_MS = 7 * DAY_MS;
/** One address may belong to several tenants. */
export const MOST_OF_AN_ADDRESS = 5;

export interface LinkDeps {
  store: Pick<Store, 'as' | 'firstOwner' | 'usersByEmail' | 'setLink'>;
  clock: Clock;
  random: Random;
}

/** The token of a one-time link, which is returned here and not stored. */
export interface PasswordLink {
  user: User;
  token: string;
}

/** A new link for a tenant's owner; the one before counts no more. Null where there is no such tenant. */
export async function renewSetupLink(deps: LinkDeps, tenantId: string): Promise<PasswordLink | null> {
  const user = await deps.store.firstOwner(tenantId);
  return user === null ? null : await linkFor(deps, user);
}

/** New links for an email address: one for each tenant that it belongs to. */
export async function renewResetLinks(deps: LinkDeps, email: string): Promise<PasswordLink[]> {
  const links: PasswordLink[] = [];
  for (const user of await deps.store.usersByEmail(email, MOST_OF_AN_ADDRESS)) {
    links.push(await linkFor(deps, user));
  }
  return links;
}

/** Only commands return links of existing people; links by mail are sent with the mail. */
async function linkFor({ store, clock, random }: LinkDeps, user: User): Promise<PasswordLink> {
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

/** Signed links, which let anyone who has one do exactly that. */
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

/** Where a user is who logs in or changes their credentials. */
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
