import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { changeKey, createKey, findKey } from '../accounts/key-management.ts';
import { callerOf } from '../http/auth.ts';
import { cursorScope, paginate, paginationSchema, pagingQuery, readCursor } from '../http/paging.ts';
import { keyInputSchema, keyPatchSchema, keyResource, keyResourceSchema } from '../model/key.ts';
import type { ApiParts } from './parts.ts';

const idParams = z.strictObject({ id: z.string() });
const noQuery = z.strictObject({});
const oneKey = z.strictObject({ data: keyResourceSchema });

/** `/v1/keys`: the tenant's API keys. */
export function addKeys(app: FastifyInstance, parts: ApiParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
  addRevoke(app, parts);
}

function addCreate(app: FastifyInstance, parts: ApiParts): void {
  const created = keyResourceSchema.extend({
    // Null in a repeated answer: an Idempotency-Key does not make the secret be shown twice.
    api_key: z.string().nullable().describe('The key itself, shown here and never again'),
  });
  app.withTypeProvider<ZodTypeProvider>().post(
    '/keys',
    {
      config: { scope: 'keys:write' },
      schema: {
        operationId: 'createKey',
        summary: 'Create an API key; answers its secret',
        description: 'The new key gets scopes of the calling key at most.',
        tags: ['Keys'],
        querystring: noQuery,
        body: keyInputSchema,
        response: { 201: z.strictObject({ data: created }) },
      },
    },
    async (request, reply) => {
      const { key, apiKey } = await createKey(parts, callerOf(request).key, request.body);
      reply.header('location', `${parts.baseUrl}/v1/keys/${key.id}`);
      return reply.code(201).send({ data: { ...keyResource(key), api_key: apiKey } });
    },
  );
}

function addList(app: FastifyInstance, { store, cursors, baseUrl }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/keys',
    {
      config: { scope: 'keys:read' },
      schema: {
        operationId: 'listKeys',
        summary: 'API keys, oldest first, revoked ones too',
        tags: ['Keys'],
        querystring: z.strictObject(pagingQuery),
        response: { 200: z.strictObject({ data: z.array(keyResourceSchema), pagination: paginationSchema }) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { limit, cursor } = request.query;
      const scope = cursorScope('keys', tenant.id, null);
      const page = await store.pageKeys(tenant.id, { limit, after: readCursor(cursors, scope, cursor) });
      const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
      return {
        data: page.rows.map(keyResource),
        pagination: paginate(request, reply, { baseUrl, nextCursor, limit }),
      };
    },
  );
}

function addGet(app: FastifyInstance, { store }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/keys/:id',
    {
      config: { scope: 'keys:read' },
      schema: {
        operationId: 'getKey',
        summary: 'One API key',
        tags: ['Keys'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneKey },
      },
    },
    async (request) => {
      const key = await findKey(store, callerOf(request).tenant.id, request.params.id);
      return { data: keyResource(key) };
    },
  );
}

function addPatch(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/keys/:id',
    {
      config: { scope: 'keys:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'updateKey',
        summary: 'Change name, scopes, limit or expiry of an API key',
        description:
          'What is left out stays as it is; a change counts from the next request on. Scopes that the key did not have must be ones of the calling key. A revoked key cannot be changed.',
        tags: ['Keys'],
        params: idParams,
        querystring: noQuery,
        body: keyPatchSchema,
        response: { 200: oneKey },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: request.body };
      return { data: keyResource(await changeKey(parts, callerOf(request).key, change)) };
    },
  );
}

function addRevoke(app: FastifyInstance, { store, clock }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/keys/:id',
    {
      config: { scope: 'keys:write' },
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke an API key, at once and for good',
        description:
          'The key stays in the list with its `revoked_at`; revoking it again changes nothing. A key may revoke itself. When a tenant has no working key left, `key create` of the command line makes another.',
        tags: ['Keys'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Revoked') },
      },
    },
    async (request, reply) => {
      const key = await findKey(store, callerOf(request).tenant.id, request.params.id);
      await store.revokeKey(key.id, clock.now());
      return reply.code(204).send();
    },
  );
}
