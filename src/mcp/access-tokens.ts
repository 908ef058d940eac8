import { createHash } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, errors, type JWK, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Caller } from '../http/request-context.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import { shared } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import { DEFAULT_KEY_RATE_LIMIT, scopesNamed } from '../model/key.ts';
import { MCP_METADATA_PATH, MCP_PATH, TOKEN_KEY_PREFIX } from '../model/mcp.ts';
import type { AccountStore } from '../store/account-store.ts';
import { checkTarget } from '../webhooks/targets.ts';

/** Reads a document from another host, under the same rules as sources. */
export type ReadDocument = (
  address: string,
  signal: AbortSignal,
) => Promise<{ status: number; url: string; body: Buffer }>;

/** Dependencies of the token check. */
export interface AccessTokenDeps {
  store: Pick<AccountStore, 'getTenant'>;
  clock: Clock;
  baseUrl: string;
  /** Accepted issuers, exactly as in their `iss` claim. */
  authorizationServers: readonly string[];
  allowTargets: AddressSet;
  readDocument: ReadDocument;
  logger: { warn(fields: object, message: string): void };
}

type Keys = ReturnType<typeof createLocalJWKSet>;

/** Asymmetric algorithms only: a verifier with a shared secret could also sign with it. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const CLOCK_SKEW_SECONDS = 30;
const TIME_LIMIT_MS = 5_000;
const MAX_DOCUMENT_BYTES = 256 * 1024;
const KEYS_LAST_MS = 10 * 60_000;
/**
 * Minimum interval of look-ups for unknown keys and of retries, both of which anyone can cause by sending
 * tokens.
 */
const LOOK_AGAIN_MS = 30_000;
/** How long the last keys stay valid while the issuer is unreachable. */
const KEYS_OUTLIVE_MS = DAY_MS;
const MAX_NAME = 100;
/** An issuer has a few keys; with each token, `jose` goes through all of them. */
const MAX_KEYS = 100;
/** OpenSSL verifies with moduli of up to 16,384 bits, 2,731 characters. */
const MAX_MODULUS_CHARS = 2_731;
/** Enough for P-521; an RSA exponent has four. */
const MAX_COORDINATE_CHARS = 100;
const MAX_KEY_NAME_CHARS = 1_000;
/** There are eight (RFC 7517, section 4.3). */
const MAX_KEY_USES = 8;
/** How much of a foreign text is logged. */
const MAX_LOGGED_CHARS = 200;

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.string().max(2_048) });
const keySetSchema = z.object({ keys: z.array(z.unknown()).max(MAX_KEYS) });
const coordinate = z.string().max(MAX_COORDINATE_CHARS).optional();
/**
 * A public key for signatures, reduced to the members that `jose` needs: it compares each of a key's `key_ops` with
 * all others for every token, which took 4 s for 40,000. A private key is not accepted: everyone could sign with it.
 */
const keySchema = z
  .object({
    kty: z.enum(['RSA', 'EC', 'OKP']),
    kid: z.string().max(MAX_KEY_NAME_CHARS).optional(),
    alg: coordinate,
    use: z.literal('sig').optional(),
    key_ops: z
      .array(z.unknown())
      .max(MAX_KEY_USES)
      .refine((uses) => uses.includes('verify'))
      .optional(),
    crv: coordinate,
    x: coordinate,
    y: coordinate,
    n: z.string().max(MAX_MODULUS_CHARS).optional(),
    e: coordinate,
    d: z.undefined().optional(),
  })
  .transform(({ key_ops: _uses, d: _private, ...key }) => key);
/** Not a union with an array: zod would describe each invalid element, which took 6 ms for a token of 10 KB. */
const scopeClaim = z.custom<string | string[]>(areScopes).optional();
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string().min(1),
  exp: z.number(),
  signalpost_tenant: z.string().min(1).max(64),
  client_id: z.string().optional(),
  scope: scopeClaim,
  scp: scopeClaim,
});

/**
 * Checks access tokens of external authorization servers (JWT, RFC 9068): signature, issuer, lifetime, and
 * that they were issued for this server (RFC 8707). The resulting caller represents the subject and client of
 * the token, and expires with it.
 */
export function createAccessTokens(deps: AccessTokenDeps): (token: string) => Promise<Caller> {
  const { store, clock, baseUrl, authorizationServers } = deps;
  const audience = `${baseUrl}${MCP_PATH}`;
  const issuers = new Map(authorizationServers.map((issuer) => [issuer, createIssuer(issuer, deps)]));

  async function verify(token: string): Promise<JWTPayload> {
    const { iss: issuer = '' } = decodeJwt(token);
    const keys = issuers.get(issuer);
    if (keys === undefined)
      throw refused('The access token was issued by an authorization server that is not accepted.');
    const currentDate = new Date(clock.now());
    const rules = {
      issuer,
      audience,
      currentDate,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
    };
    const check = async (maxAgeMs: number) => (await jwtVerify(token, await keys(maxAgeMs), rules)).payload;
    try {
      return await check(KEYS_LAST_MS);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return await check(LOOK_AGAIN_MS);
      throw error;
    }
  }

  function refused(detail: string): DomainError {
    const hint = `Get a token for ${audience} from one of the authorization servers in ${baseUrl}${MCP_METADATA_PATH}.`;
    return new DomainError('UNAUTHENTICATED', detail, { hint });
  }

  function refusalOf(error: unknown): unknown {
    if (error instanceof errors.JWTExpired) return refused('The access token has expired.');
    if (error instanceof errors.JWTClaimValidationFailed) {
      return refused(`The claim "${error.claim}" of the access token is missing or invalid.`);
    }
    // A DOMException: the issuer's key is not one.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
      return refused('The access token is not valid.');
    }
    return error;
  }

  return async (token) => {
    const payload = await verify(token).catch((error: unknown) => {
      throw refusalOf(error);
    });
    const parsed = claimsSchema.safeParse(payload);
    if (!parsed.success) {
      throw refused(
        `The claim "${parsed.error.issues[0]?.path.join('.')}" of the access token is missing or invalid.`,
      );
    }
    const { iss, sub, exp, client_id: client = '', scope, scp, signalpost_tenant } = parsed.data;
    const tenant = await store.getTenant(signalpost_tenant);
    if (tenant === null) throw refused('The claim "signalpost_tenant" of the access token names no account.');
    const principal = createHash('sha256')
      .update(JSON.stringify([iss, sub, client, tenant.id]))
      .digest('hex');
    const now = clock.now();
    return {
      tenant,
      key: {
        id: `${TOKEN_KEY_PREFIX}${principal.slice(0, 26)}`,
        tenantId: tenant.id,
        name: client.replace(/\p{C}/gu, '').slice(0, MAX_NAME) || 'Access token',
        hash: '',
        last4: '',
        scopes: scopesNamed([scope ?? scp ?? ''].flat().flatMap((names) => names.split(' '))),
        rateLimit: DEFAULT_KEY_RATE_LIMIT,
        expiresAt: exp * 1_000,
        lastUsedAt: now,
        revokedAt: null,
        createdAt: now,
      },
    };
  };
}

function areScopes(claim: unknown): boolean {
  return [claim].flat().every((name) => typeof name === 'string');
}

/** The signing keys of an issuer, cached up to a maximum age; concurrent requests for them are shared. */
function createIssuer(issuer: string, deps: AccessTokenDeps): (maxAgeMs: number) => Promise<Keys> {
  const { clock, allowTargets, readDocument, logger } = deps;
  let kept: { keys: Keys; readAt: number } | null = null;
  let reading: Promise<Keys> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;

  /** Reads a document; null on a 404. @throws Error with the reason why it cannot be used */
  async function read(address: string): Promise<unknown> {
    const target = checkTarget(address, allowTargets);
    if ('fault' in target) throw new Error(`${address} ${target.fault}`);
    const over = new AbortController();
    const timer = clock.after(TIME_LIMIT_MS, () => over.abort());
    try {
      const { status, url, body } = await readDocument(target.url.href, over.signal);
      if (status === 404) return null;
      if (status !== 200) throw new Error(`${address} responded with status ${status}`);
      if (url !== target.url.href) throw new Error(`${address} redirects`);
      if (body.length > MAX_DOCUMENT_BYTES) throw new Error(`${address} is too large`);
      return JSON.parse(body.toString('utf8'));
    } finally {
      timer.cancel();
    }
  }

  async function readKeys(): Promise<Keys> {
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, '');
    // RFC 8414, section 3.1, inserts the well-known path before the issuer's path; OpenID Connect Discovery
    // appends it.
    const metadata = metadataSchema.parse(
      (await read(`${origin}/.well-known/oauth-authorization-server${path}`)) ??
        (await read(`${origin}${path}/.well-known/openid-configuration`)),
    );
    if (metadata.issuer !== issuer)
      throw new Error(`its metadata names the issuer ${metadata.issuer.slice(0, MAX_LOGGED_CHARS)}`);
    const { keys } = keySetSchema.parse(await read(metadata.jwks_uri));
    const usable = keys.map((key) => keySchema.safeParse(key)).filter(({ success }) => success);
    return createLocalJWKSet({ keys: usable.map(({ data }) => data as JWK) });
  }

  async function renew(): Promise<Keys> {
    try {
      const keys = await readKeys();
      kept = { keys, readAt: clock.monotonic() };
      return keys;
    } catch (error) {
      failedAt = clock.monotonic();
      const reason =
        error instanceof z.ZodError ? 'its metadata or set of keys is invalid' : (error as Error).message;
      logger.warn({ issuer, reason }, 'the keys of an authorization server could not be read');
      return lastKeys();
    } finally {
      reading = null;
    }
  }

  function lastKeys(): Keys {
    if (kept !== null && clock.monotonic() - kept.readAt < KEYS_OUTLIVE_MS) return kept.keys;
    throw new DomainError('UNAVAILABLE', 'The keys of the authorization server could not be read.', {
      retryAfterSeconds: LOOK_AGAIN_MS / 1_000,
    });
  }

  return async (maxAgeMs) => {
    const now = clock.monotonic();
    if (kept !== null && now - kept.readAt < maxAgeMs) return kept.keys;
    if (now - failedAt < LOOK_AGAIN_MS) return lastKeys();
    reading ??= renew();
    return shared(reading);
  };
}
