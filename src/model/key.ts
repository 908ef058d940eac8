import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { requiredLine, timeInput } from './text.ts';

const SCOPE_RESOURCES = [
  'signals',
  'leads',
  'pipeline',
  'campaigns',
  'companies',
  'icps',
  'sources',
  'webhooks',
  'keys',
] as const;

export type ScopeResource = (typeof SCOPE_RESOURCES)[number];
/** A permission of an API key; `:write` includes `:read`. */
export type Scope = `${ScopeResource}:${'read' | 'write'}`;

export const SCOPES: readonly Scope[] = SCOPE_RESOURCES.flatMap((r): Scope[] => [`${r}:read`, `${r}:write`]);
export const scopeSchema = z.enum(SCOPES as [Scope, ...Scope[]]);

export const SCOPE_PRESETS = ['read', 'write', 'admin'] as const;

/** The scopes of a preset; null if there is no such preset. */
export function presetScopes(name: string): readonly Scope[] | null {
  if (name === 'read') return SCOPES.filter((scope) => scope.endsWith(':read'));
  if (name === 'write') return SCOPES.filter((scope) => !scope.startsWith('keys:'));
  return name === 'admin' ? SCOPES : null;
}

/** Resolves names of scopes and presets to scopes, in the order of {@link SCOPES}. */
export function scopesNamed(names: string | readonly string[]): Scope[] {
  const wanted = new Set<string>(
    [names].flat().flatMap((name): readonly string[] => presetScopes(name) ?? [name]),
  );
  return SCOPES.filter((scope) => wanted.has(scope));
}

/** Default rate limit of a key, in requests per 60 seconds. */
export const DEFAULT_KEY_RATE_LIMIT = 600;

/**
 * An API key as stored: only the SHA-256 (hex) and the last 4 characters of its secret. Times are Unix
 * milliseconds.
 */
export interface ApiKey {
  id: string;
  tenantId: string;
  name: string;
  hash: string;
  last4: string;
  scopes: Scope[];
  rateLimit: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
  createdAt: number;
}

const time = z.iso.datetime();

/** An API key as returned by every API; the key itself is returned only on creation. */
export const keyResourceSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the key.'),
    name: z.string().describe('Name of the key.'),
    scopes: z.array(scopeSchema).describe('Permissions of the key. `:write` includes `:read`.'),
    rate_limit: z.int().min(1).describe('Maximum number of requests per 60 seconds.'),
    expires_at: time.nullable().describe('When the key expires; `null` if it does not expire.'),
    last_used_at: time
      .nullable()
      .describe('When the key was last used, to the minute; `null` if it never was.'),
    revoked_at: time.nullable().describe('When the key was revoked; `null` if it was not.'),
    last4: z.string().describe('Last 4 characters of the key.'),
  })
  .meta({ id: 'ApiKey', description: 'An API key, without the key itself.' });
export type KeyResource = z.output<typeof keyResourceSchema>;

export function keyResource(key: ApiKey): KeyResource {
  const shown = (ms: number | null) => (ms === null ? null : toIso(ms));
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes,
    rate_limit: key.rateLimit,
    expires_at: shown(key.expiresAt),
    last_used_at: shown(key.lastUsedAt),
    revoked_at: shown(key.revokedAt),
    last4: key.last4,
  };
}

const PRESETS_TEXT =
  '`read` (all `:read` scopes), `write` (all scopes except those of keys) or `admin` (all scopes)';
const MAX_RATE_LIMIT = 1_000_000;
const presetSchema = z.enum(SCOPE_PRESETS);
const nameSchema = requiredLine(100).describe('Name of the key, such as its purpose.');
const scopesSchema = z
  .union([
    z
      .array(z.enum([...SCOPES, ...SCOPE_PRESETS]))
      .min(1)
      .max(SCOPES.length),
    presetSchema,
  ])
  .describe(
    `Permissions of the key, as a list of scopes or a preset: ${PRESETS_TEXT}. \`:write\` includes \`:read\`.`,
  );
const rateLimitSchema = z
  .int()
  .min(1)
  .max(MAX_RATE_LIMIT)
  .describe('Maximum number of requests per 60 seconds.');
const expiresAtSchema = timeInput.nullable().describe('When the key expires; `null` for never.');

/** Body of `POST /v1/keys`. */
export const keyInputSchema = z
  .strictObject({
    name: nameSchema,
    scopes: scopesSchema.optional(),
    preset: presetSchema.optional().describe(`Preset of scopes, instead of \`scopes\`: ${PRESETS_TEXT}.`),
    rate_limit: rateLimitSchema.optional(),
    expires_at: expiresAtSchema.optional(),
  })
  .refine(({ scopes, preset }) => (scopes === undefined) !== (preset === undefined), {
    path: ['scopes'],
    error: 'or "preset" is required, but not both',
    // Reported together with all other errors.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });
export type KeyInput = z.output<typeof keyInputSchema>;

/** Body of `PATCH /v1/keys/{id}`: omitted members stay as they are. */
export const keyPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  scopes: scopesSchema.optional(),
  rate_limit: rateLimitSchema.optional(),
  expires_at: expiresAtSchema.optional(),
});
export type KeyPatch = z.output<typeof keyPatchSchema>;
