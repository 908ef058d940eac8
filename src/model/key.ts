import { z } from 'zod';

export const SCOPE_RESOURCES = [
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
export const keyResourceSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  scopes: z.array(scopeSchema),
  rate_limit: z.int().min(1),
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
  revoked_at: time.nullable(),
  last4: z.string(),
});
