import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { base32, stepOfCode, totpUri } from '../lib/totp.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { NewMail } from '../model/mail.ts';
import type { User } from '../model/tenant.ts';
import type { SecondFactor } from '../store/account-store.ts';
import type { Store } from '../store/store.ts';
import { hashToken } from './links.ts';

/** As long as the underlying hash (RFC 4226, section 4, R6). */
const SECRET_BYTES = 20;
const CODES = 10;
/** 80 bits: too many for brute force, so a fast hash is sufficient. */
const CODE_BYTES = 10;
const ISSUER = 'Signalpost';

export interface FactorDeps {
  store: Pick<
    Store,
    | 'getFactor'
    | 'offerFactor'
    | 'confirmFactor'
    | 'spendStep'
    | 'spendRecoveryCode'
    | 'setRecoveryCodes'
    | 'dropFactor'
  >;
  clock: Clock;
  random: Random;
  secretBox: SecretBox;
}

/** A secret for an authenticator app: as a typed key, and as the URL in a QR code. */
export interface FactorOffer {
  key: string;
  uri: string;
}

/**
 * The secret to be confirmed with a code: the one offered before, or a new one.
 * @throws DomainError `CONFLICT` if two-factor authentication is already on
 */
export async function offerFactor(deps: FactorDeps, user: User): Promise<FactorOffer> {
  const { store, random, secretBox } = deps;
  const factor = await store.getFactor(user.id);
  let secret = factor === null ? null : secretOf(deps, user.id, factor);
  if (secret === null) {
    secret = random.bytes(SECRET_BYTES);
    const box = secretBox.seal(secret.toString('base64'), boxContext(user.id));
    if (!(await store.offerFactor(user.id, box))) throw inForce();
  } else if (factor?.since !== null) throw inForce();
  return {
    key: (base32(secret).match(/.{1,4}/g) ?? []).join(' '),
    uri: totpUri(secret, { issuer: ISSUER, account: user.email }),
  };
}

/**
 * Enables the offered secret: a code proves that an authenticator has it. Every session except `keep` ends. Returns
 * the recovery codes, of which only hashes are stored. @throws DomainError `INVALID_REQUEST` at `/code`, `CONFLICT`
 * if nothing was offered
 */
export async function confirmFactor(
  deps: FactorDeps,
  user: User,
  { code, keep, mail }: { code: string; keep: string; mail: NewMail },
): Promise<string[]> {
  const { store, clock, random } = deps;
  const factor = await store.getFactor(user.id);
  if (factor === null || factor.since !== null) throw inForce();
  const now = clock.now();
  const step = stepOfCode(secretOf(deps, user.id, factor), code, { now, after: factor.step });
  if (step === null) throw invalidAt('/code', WRONG_CODE);
  const codes = newCodes(random);
  const change = { userId: user.id, step, now, codeHashes: codes.map(hashCode), keep, mail };
  if (!(await store.confirmFactor(change))) throw inForce();
  return codes;
}

/** New recovery codes, of which only hashes are stored; earlier ones become invalid. @throws DomainError `CONFLICT` */
export async function renewRecoveryCodes(
  { store, random }: FactorDeps,
  user: User,
  mail: NewMail,
): Promise<string[]> {
  const codes = newCodes(random);
  if (await store.setRecoveryCodes(user.id, codes.map(hashCode), mail)) return codes;
  throw new DomainError('CONFLICT', 'Two-factor authentication is not enabled.');
}

/** Accepts a code of the authenticator, or a recovery code; each works once. */
export async function spendCode(deps: FactorDeps, userId: string, code: string): Promise<boolean> {
  const { store, clock } = deps;
  const factor = await store.getFactor(userId);
  if (factor === null || factor.since === null) return false;
  const after = factor.step;
  const step = stepOfCode(secretOf(deps, userId, factor), code, { now: clock.now(), after });
  if (step !== null) return await store.spendStep(userId, step);
  return await store.spendRecoveryCode(userId, hashCode(code));
}

export const WRONG_CODE =
  "That code is not right. Wait for the next one, and check that your device's clock is correct.";

function secretOf({ secretBox }: FactorDeps, userId: string, { box }: SecondFactor): Buffer {
  return Buffer.from(secretBox.open(box, boxContext(userId)), 'base64');
}

function boxContext(userId: string): string {
  return `second factor of ${userId}`;
}

function newCodes(random: Random): string[] {
  return Array.from({ length: CODES }, () =>
    (base32(random.bytes(CODE_BYTES)).toLowerCase().match(/.{4}/g) ?? []).join('-'),
  );
}

/** Users omit the dashes and type capitals. */
function hashCode(code: string): string {
  return hashToken(code.toLowerCase().replace(/[^a-z2-7]/g, ''));
}

function inForce(): DomainError {
  return new DomainError(
    'CONFLICT',
    'Two-factor authentication is already on, or was set up again elsewhere.',
    {
      hint: 'Reload the page.',
    },
  );
}
