import { changeSettings, readSettings, settingsResource } from '../accounts/settings.ts';
import { settingsPatchSchema, settingsSchema } from '../model/settings.ts';
import type { RoutesOf } from './routes.ts';

/** `/v1/settings`: what a tenant settles for itself. */
export function addSettings(routesOf: RoutesOf): void {
  const account = routesOf('Account');
  account.get('/settings', {
    operationId: 'getSettings',
    summary: 'Time zone and daily digest',
    scope: 'keys:read',
    answer: settingsSchema,
    handle: async ({ parts, tenantId }) => settingsResource(await readSettings(parts, tenantId)),
  });
  account.patch('/settings', {
    operationId: 'updateSettings',
    summary: 'Change time zone and daily digest',
    description:
      'What is left out stays as it is. A digest whose hour is the present one is made at once, unless one was made today.',
    scope: 'keys:write',
    body: settingsPatchSchema,
    answer: settingsSchema,
    handle: async ({ parts, tenantId, body }) =>
      settingsResource(await changeSettings(parts, tenantId, body)),
  });
}
