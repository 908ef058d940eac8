import type { FastifyInstance } from 'fastify';
import { changeSettings, readSettings, settingsResource } from '../accounts/settings.ts';
import { settingsPatchSchema, settingsSchema } from '../model/settings.ts';
import type { ApiParts } from './parts.ts';
import { routesOf } from './routes.ts';

/** `/v1/settings`: what a tenant settles for itself. */
export function addSettings(app: FastifyInstance, parts: ApiParts): void {
  const account = routesOf(app, parts, 'Account');
  account.get('/settings', {
    operationId: 'getSettings',
    summary: 'Time zone and daily digest',
    scope: 'keys:read',
    answer: settingsSchema,
    handle: async ({ tenantId }) => settingsResource(await readSettings(parts, tenantId)),
  });
  account.patch('/settings', {
    operationId: 'updateSettings',
    summary: 'Change time zone and daily digest',
    description:
      'What is left out stays as it is. A digest whose hour is the present one is made at once, unless one was made today.',
    scope: 'keys:write',
    body: settingsPatchSchema,
    answer: settingsSchema,
    handle: async ({ tenantId, body }) => settingsResource(await changeSettings(parts, tenantId, body)),
  });
}
