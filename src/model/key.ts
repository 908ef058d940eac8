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

/** The scopes of a preset; null where `name` is none. */
export function presetScopes(name: string): readonly Scope[] | null {
  if (name === 'read') return SCOPES.filter((scope) => scope.endsWith(':read'));
  if (name === 'write') return SCOPES.filter((scope) => !scope.startsWith('keys:'));
  return name === 'admin' ? SCOPES : null;
}

/** The scopes that names of scopes and presets come to, in the order of {@link SCOPES}. */
export function scopesNamed(names: string | readonly string[]): Scope[] {
  const wanted = new Set<string>(
    [names].flat().flatMap((name): readonly string[] => presetScopes(name) ?? [name]),
  );
  return SCOPES.filter((scope) => wanted.has(scope));
}

/** Requests per 60 s of a key that was given no limit of its own. */
export const DEFAULT_KEY_RATE_LIMIT = 600;

/** An API key as stored: its secret only as SHA-256 (hex) and last 4 characters. Times are Unix milliseconds. */
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

/** An API key on the wire; `api_key` itself is shown on creation only. */
export const keyResourceSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    scopes: z.array(scopeSchema),
    rate_limit: z.int().min(1).describe('Requests per 60 seconds'),
    expires_at: time.nullable().describe('From then on the key is refused; null: it does not expire'),
    last_used_at: time.nullable().describe('To the minute'),
    revoked_at: time.nullable().describe('Since then the key is refused'),
    last4: z.string().describe('Its last characters, to tell keys apart'),
  })
  .meta({ id: 'ApiKey' });
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

const PRESETS_TEXT = '`read` (read everything), `write` (all but keys) or `admin` (everything)';
const MAX_RATE_LIMIT = 1_000_000;
const presetSchema = z.enum(SCOPE_PRESETS);
const nameSchema = requiredLine(100).describe('What the key is for');
const scopesSchema = z
  .union([
    z
      .array(z.enum([...SCOPES, ...SCOPE_PRESETS]))
      .min(1)
      .max(SCOPES.length),
    presetSchema,
  ])
  .describe(`Scopes, of which \`:write\` includes \`:read\`; or a preset: ${PRESETS_TEXT}`);
const rateLimitSchema = z.int().min(1).max(MAX_RATE_LIMIT).describe('Requests per 60 seconds');
const expiresAtSchema = timeInput.nullable().describe('When the key is to stop working; null: never');

/** Body of `POST /v1/keys`. */
export const keyInputSchema = z
  .strictObject({
    name: nameSchema,
    scopes: scopesSchema.optional(),
    preset: presetSchema.optional().describe(`Instead of \`scopes\`: ${PRESETS_TEXT}`),
    rate_limit: rateLimitSchema.optional(),
    expires_at: expiresAtSchema.optional(),
  })
  .refine(({ scopes, preset }) => (scopes === undefined) !== (preset === undefined), {
    path: ['scopes'],
    error: 'is required, or "preset" in its place, not both',
    // Beside other faults too: all are told at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });
export type KeyInput = z.output<typeof keyInputSchema>;

/** Body of `PATCH /v1/keys/{id}`: what is left out stays as it is. */
export const keyPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  scopes: scopesSchema.optional(),
  rate_limit: rateLimitSchema.optional(),
  expires_at: expiresAtSchema.optional(),
});
export type KeyPatch = z.output<typeof keyPatchSchema>;
