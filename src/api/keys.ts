import { z } from 'zod';
import { changeKey, createKey, findKey, revokeKey } from '../accounts/key-management.ts';
import { keyInputSchema, keyPatchSchema, keyResource, keyResourceSchema } from '../model/key.ts';
import { addList } from './list.ts';
import type { RoutesOf } from './routes.ts';

const createdSchema = keyResourceSchema.extend({
  // Null in a repeated answer: an Idempotency-Key does not make the secret be shown twice.
  api_key: z.string().nullable().describe('The key itself, shown here and never again'),
});

/** `/v1/keys`: the tenant's API keys. */
export function addKeys(routesOf: RoutesOf): void {
  const keys = routesOf('Keys');
  keys.create('/keys', {
    operationId: 'createKey',
    summary: 'Create an API key; answers its secret',
    description: 'The new key gets scopes of the calling key at most.',
    scope: 'keys:write',
    problems: ['PLAN_REQUIRED'],
    showsSecret: true,
    body: keyInputSchema,
    answer: createdSchema,
    async handle({ parts, caller, body }) {
      const { key, apiKey } = await createKey(parts, caller, body);
      return { ...keyResource(key), api_key: apiKey };
    },
  });
  addList(keys, '/keys', {
    operationId: 'listKeys',
    summary: 'API keys, oldest first, revoked ones too',
    scope: 'keys:read',
    item: keyResourceSchema,
    read: ({ parts: { store }, tenantId }, place) => store.pageKeys(tenantId, place),
    show: ({ rows }) => rows.map(keyResource),
  });
  keys.get('/keys/:id', {
    operationId: 'getKey',
    summary: 'One API key',
    scope: 'keys:read',
    answer: keyResourceSchema,
    handle: async ({ parts, tenantId, params }) =>
      keyResource(await findKey(parts.store, tenantId, params.id)),
  });
  keys.patch('/keys/:id', {
    operationId: 'updateKey',
    summary: 'Change name, scopes, limit or expiry of an API key',
    description:
      'What is left out stays as it is; a change counts from the next request on. Neither the key nor what is made of it may do more than the calling key. A revoked key cannot be changed.',
    scope: 'keys:write',
    problems: ['CONFLICT'],
    body: keyPatchSchema,
    answer: keyResourceSchema,
    handle: async ({ parts, caller, params, body }) =>
      keyResource(await changeKey(parts, caller.key, { id: params.id, patch: body })),
  });
  keys.remove('/keys/:id', {
    operationId: 'revokeKey',
    summary: 'Revoke an API key, at once and for good',
    description:
      'The key stays in the list with its `revoked_at` for 90 days; revoking it again changes nothing. A key may revoke itself, and no key that may do more than itself. When a tenant has no working key left, `key create` of the command line makes another.',
    scope: 'keys:write',
    gone: 'Revoked',
    handle: ({ parts, caller, params }) => revokeKey(parts, caller.key, params.id),
  });
}
