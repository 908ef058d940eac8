import { z } from 'zod';
import { changeKey, createKey, findKey, revokeKey } from '../accounts/keys.ts';
import { keyInputSchema, keyPatchSchema, keyResource, keyResourceSchema } from '../model/key.ts';
import { addList } from './list.ts';
import type { RoutesOf } from './routes.ts';

const createdSchema = keyResourceSchema.extend({
  // Null when replayed by Idempotency-Key: the key is shown only once.
  api_key: z
    .string()
    .nullable()
    .describe('The key itself, returned only once; `null` if the response is replayed.'),
});

/** `/v1/keys`: the tenant's API keys. */
export function addKeys(routesOf: RoutesOf): void {
  const keys = routesOf('Keys');
  keys.create('/keys', {
    operationId: 'createKey',
    summary: 'Create an API key',
    description:
      'Returns the key, which is shown only once. It can have only scopes that the calling key has.',
    scope: 'keys:write',
    problems: ['PLAN_REQUIRED'],
    showsSecret: true,
    body: keyInputSchema,
    answer: createdSchema,
    async handle({ deps, caller, body }) {
      const { key, apiKey } = await createKey(deps, caller, body);
      return { ...keyResource(key), api_key: apiKey };
    },
  });
  addList(keys, '/keys', {
    operationId: 'listKeys',
    summary: 'List API keys',
    description: 'Oldest first, including revoked keys.',
    scope: 'keys:read',
    item: keyResourceSchema,
    read: ({ deps: { store }, tenantId }, place) => store.pageKeys(tenantId, place),
    show: ({ rows }) => rows.map(keyResource),
  });
  keys.get('/keys/:id', {
    operationId: 'getKey',
    summary: 'Get an API key',
    scope: 'keys:read',
    answer: keyResourceSchema,
    handle: async ({ deps, tenantId, params }) => keyResource(await findKey(deps.store, tenantId, params.id)),
  });
  keys.patch('/keys/:id', {
    operationId: 'updateKey',
    summary: 'Update an API key',
    description:
      'Omitted members stay as they are. Changes apply from the next request. Neither the key nor its new scopes may exceed those of ' +
      'the calling key. A revoked key cannot be changed.',
    scope: 'keys:write',
    problems: ['CONFLICT'],
    body: keyPatchSchema,
    answer: keyResourceSchema,
    handle: async ({ deps, caller, params, body }) =>
      keyResource(await changeKey(deps, caller.key, { id: params.id, patch: body })),
  });
  keys.remove('/keys/:id', {
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    description:
      'Takes effect immediately and cannot be undone. The key stays in the list with its `revoked_at` for 90 days; only the last 500 are kept. A key can revoke itself, ' +
      'but no key with more permissions. If no working key is left, create one with `signalpost key create`.',
    scope: 'keys:write',
    gone: 'Revoked',
    handle: ({ deps, caller, params }) => revokeKey(deps, caller.key, params.id),
  });
}
