import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { icpInputSchema, icpPatchSchema, icpResource, icpSchema } from '../model/icp.ts';
import { MAX_PREVIEW_POSTS, previewInputSchema, previewSchema } from '../model/icp-preview.ts';
import { previewProfile } from '../signals/preview.ts';
import { changeProfile, createProfile, deleteProfile, findProfile } from '../signals/profiles.ts';
import { addIcpDraft } from './icp-draft.ts';
import { addIcpQuality } from './icp-quality.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type IcpParts = Pick<
  ApiParts,
  'store' | 'clock' | 'encoder' | 'newId' | 'seededRandom' | 'cursors' | 'baseUrl'
>;

const oneIcp = z.strictObject({ data: icpSchema });

/** `/v1/icps`: ideal customer profiles. */
export function addIcps(app: FastifyInstance, parts: IcpParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addPreview(app, parts);
  addIcpDraft(app, parts);
  addIcpQuality(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
  addDelete(app, parts);
}

function addCreate(app: FastifyInstance, parts: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/icps',
    {
      config: { scope: 'icps:write', problems: ['CONFLICT', 'PLAN_REQUIRED'] },
      schema: {
        operationId: 'createIcp',
        summary: 'Create a profile',
        description:
          'Settings that are left out ask nothing, and weights and thresholds have their defaults. New posts are matched with it from now on.',
        tags: ['Profiles'],
        querystring: noQuery,
        body: icpInputSchema,
        response: { 201: oneIcp },
      },
    },
    async (request, reply) => {
      const profile = await createProfile(runParts(request, parts), callerOf(request).tenant, request.body);
      reply.header('location', `${parts.baseUrl}/v1/icps/${profile.id}`);
      return reply.code(201).send({ data: icpResource(profile) });
    },
  );
}

function addList(app: FastifyInstance, parts: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/icps',
    {
      config: { scope: 'icps:read' },
      schema: {
        operationId: 'listIcps',
        summary: 'Profiles, oldest first',
        tags: ['Profiles'],
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(icpSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'icps',
          filters: null,
          query: request.query,
          read: (place) => parts.store.pageProfiles(tenant.id, place),
        },
      );
      return { data: page.rows.map(icpResource), pagination };
    },
  );
}

function addPreview(app: FastifyInstance, parts: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/icps/preview',
    {
      // Nothing is changed by it, so that reading is enough.
      config: { scope: 'icps:read', problems: ['NOT_FOUND'] },
      schema: {
        operationId: 'previewIcp',
        summary: 'Score stored posts with a draft',
        description: `Takes the settings of a profile and tries them on the newest posts, ${MAX_PREVIEW_POSTS} at most. Nothing is stored and nobody is told.`,
        tags: ['Profiles'],
        querystring: noQuery,
        body: previewInputSchema,
        response: { 200: z.strictObject({ data: previewSchema }) },
      },
    },
    async (request) => ({ data: await previewProfile(parts, callerOf(request).tenant.id, request.body) }),
  );
}

function addGet(app: FastifyInstance, { store }: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/icps/:id',
    {
      config: { scope: 'icps:read' },
      schema: {
        operationId: 'getIcp',
        summary: 'One profile',
        tags: ['Profiles'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneIcp },
      },
    },
    async (request) => ({
      data: icpResource(await findProfile(store, callerOf(request).tenant.id, request.params.id)),
    }),
  );
}

function addPatch(app: FastifyInstance, parts: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/icps/:id',
    {
      config: { scope: 'icps:write', problems: ['CONFLICT', 'PLAN_REQUIRED'] },
      schema: {
        operationId: 'updateIcp',
        summary: 'Change a profile',
        description:
          'What is left out stays as it is, single weights and thresholds too; lists are replaced whole. Signals that are there keep the score, class and profile name they got.',
        tags: ['Profiles'],
        params: idParams,
        querystring: noQuery,
        body: icpPatchSchema,
        response: { 200: oneIcp },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: request.body };
      return { data: icpResource(await changeProfile(parts, callerOf(request).tenant, change)) };
    },
  );
}

function addDelete(app: FastifyInstance, parts: IcpParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/icps/:id',
    {
      config: { scope: 'icps:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'deleteIcp',
        summary: 'Delete a profile',
        description:
          'Its signals stay, and can still be listed by its id or name. The last profile cannot be deleted.',
        tags: ['Profiles'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Deleted') },
      },
    },
    async (request, reply) => {
      await deleteProfile(parts, callerOf(request).tenant.id, request.params.id);
      return reply.code(204).send();
    },
  );
}
