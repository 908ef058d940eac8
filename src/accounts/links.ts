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

/** How long a one-time link is valid. */
export const LINK_MS = 7 * DAY_MS;
/** The maximum number of tenants per email address. */
export const MOST_OF_AN_ADDRESS = 5;

export interface LinkDeps {
  store: Pick<Store, 'as' | 'firstOwner' | 'usersByEmail' | 'setLink'>;
  clock: Clock;
  random: Random;
}

/** A one-time link for a password. The token is returned only here, and not stored. */
export interface PasswordLink {
  user: User;
  token: string;
}

/** Creates a new link for a tenant's owner; the previous one becomes invalid. Null if there is no such tenant. */
export async function renewSetupLink(deps: LinkDeps, tenantId: string): Promise<PasswordLink | null> {
  const user = await deps.store.firstOwner(tenantId);
  return user === null ? null : await linkFor(deps, user);
}

/** Creates new links for an email address: one per tenant that it belongs to. */
export async function renewResetLinks(deps: LinkDeps, email: string): Promise<PasswordLink[]> {
  const links: PasswordLink[] = [];
  for (const user of await deps.store.usersByEmail(email, MOST_OF_AN_ADDRESS)) {
    links.push(await linkFor(deps, user));
  }
  return links;
}

/** Only commands return links for existing users; links by email are created when the email is sent. */
async function linkFor({ store, clock, random }: LinkDeps, user: User): Promise<PasswordLink> {
  const { token, link } = newLink(clock, random, LINK_MS);
  const actor = { tenantId: user.tenantId, actor: OTHER_ACTORS.command };
  await store.as(actor, () => store.setLink(user.id, link));
  return { user, token };
}

/** A new one-time link: its token, and the record to store. */
export function newLink(clock: Clock, random: Random, lifeMs: number) {
  const token = random.bytes(32).toString('base64url');
  return { token, link: { tokenHash: hashToken(token), expiresAt: clock.now() + lifeMs } };
}

/** Encrypts the token of an email: access to the outbox must not give access to accounts. */
export function sealToken(secretBox: SecretBox, userId: string, token: string): string {
  return secretBox.seal(token, linkContext(userId)).toString('base64');
}

/** The context that the encrypted token of an email is bound to. */
export function linkContext(userId: string): string {
  return `one-time link of ${userId}`;
}

/** How long the links in an email are valid. */
export const FEEDBACK_LINK_MS = 30 * DAY_MS;

/** What a link does to a signal: rates it as relevant or not, or adds it to the pipeline. */
const LINK_ACTS = ['not_relevant', 'relevant', 'add'] as const;
export type LinkAct = (typeof LINK_ACTS)[number];

/** The action of a link in an email or message. */
export interface MailedAct {
  tenantId: string;
  signalId: string;
  act: LinkAct;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** The user whose digest a link unsubscribes. */
export interface MailedUnsubscription {
  tenantId: string;
  userId: string;
}

/** Signed links: anyone who has one can perform its action, and nothing else. */
export interface FeedbackLinks {
  /** The URL of a link, under `baseUrl`. */
  make(act: MailedAct): string;
  /** The action of a token, expired or not; null if it is damaged or forged. */
  read(token: string): MailedAct | null;
  /** A user's unsubscribe URL; it is valid as long as the user exists. */
  makeUnsubscribe(who: MailedUnsubscription): string;
  readUnsubscribe(token: string): MailedUnsubscription | null;
}

const SCOPE = 'feedback by mail';
const UNSUBSCRIBE = 'digest ends';

/** Signed like list cursors, with scopes of their own. */
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

/** The client of a user who logs in or changes their credentials. */
export interface Whence {
  /** The client's address, as used for limits. */
  client: string;
  /** The browser in readable form. */
  browser: string;
}

/** A user as the actor of changes made before they are signed in. */
export function selfOf(
  { tenantId, id }: Pick<User, 'tenantId' | 'id'>,
  { client }: Pick<Whence, 'client'>,
): AuditActor {
  return { tenantId, actor: id, client: networkOf(client) };
}

/** The email that notifies a user of a change to their login, to be stored with that change. */
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
 * Adds a refused log-in attempt to the audit log of the tenant of each user with that address. Call it after the
 * response has been sent: unknown addresses need no write, and the difference in time would reveal which addresses
 * are known.
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

/**
 * The hash that session tokens, link tokens and recovery codes are stored and looked up by: SHA-256, hex. 80 random
 * bits need no slow hash.
 */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
