import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { changeKey, createKey, findKey, revokeKey } from '../accounts/key-management.ts';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { keyInputSchema, keyPatchSchema, keyResource, keyResourceSchema } from '../model/key.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

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
      config: { scope: 'keys:write', problems: ['PLAN_REQUIRED'], showsSecret: true },
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
      const { key, apiKey } = await createKey(runParts(request, parts), callerOf(request), request.body);
      reply.header('location', `${parts.baseUrl}/v1/keys/${key.id}`);
      return reply.code(201).send({ data: { ...keyResource(key), api_key: apiKey } });
    },
  );
}

function addList(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/keys',
    {
      config: { scope: 'keys:read' },
      schema: {
        operationId: 'listKeys',
        summary: 'API keys, oldest first, revoked ones too',
        tags: ['Keys'],
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(keyResourceSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'keys',
          filters: null,
          query: request.query,
          read: (place) => parts.store.pageKeys(tenant.id, place),
        },
      );
      return { data: page.rows.map(keyResource), pagination };
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
          'What is left out stays as it is; a change counts from the next request on. Neither the key nor what is made of it may do more than the calling key. A revoked key cannot be changed.',
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

function addRevoke(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/keys/:id',
    {
      config: { scope: 'keys:write' },
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke an API key, at once and for good',
        description:
          'The key stays in the list with its `revoked_at` for 90 days; revoking it again changes nothing. A key may revoke itself, and no key that may do more than itself. When a tenant has no working key left, `key create` of the command line makes another.',
        tags: ['Keys'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Revoked') },
      },
    },
    async (request, reply) => {
      await revokeKey(parts, callerOf(request).key, request.params.id);
      return reply.code(204).send();
    },
  );
}
