import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { changeSettings, readSettings, settingsResource } from '../accounts/settings.ts';
import { callerOf } from '../http/auth.ts';
import { noQuery } from '../http/path.ts';
import { settingsPatchSchema, settingsSchema } from '../model/settings.ts';
import type { ApiParts } from './parts.ts';

const answer = { 200: z.strictObject({ data: settingsSchema }) };

/** `/v1/settings`: what a tenant settles for itself. */
export function addSettings(app: FastifyInstance, { store, clock }: Pick<ApiParts, 'store' | 'clock'>): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.get(
    '/settings',
    {
      config: { scope: 'keys:read' },
      schema: {
        operationId: 'getSettings',
        summary: 'Time zone and daily digest',
        tags: ['Account'],
        querystring: noQuery,
        response: answer,
      },
    },
    async (request) => ({
      data: settingsResource(await readSettings({ store }, callerOf(request).tenant.id)),
    }),
  );
  typed.patch(
    '/settings',
    {
      config: { scope: 'keys:write' },
      schema: {
        operationId: 'updateSettings',
        summary: 'Change time zone and daily digest',
        description:
          'What is left out stays as it is. A digest whose hour is the present one is made at once, unless one was made today.',
        tags: ['Account'],
        querystring: noQuery,
        body: settingsPatchSchema,
        response: answer,
      },
    },
    async (request) => {
      const { tenant } = callerOf(request);
      return { data: settingsResource(await changeSettings({ store, clock }, tenant.id, request.body)) };
    },
  );
}
