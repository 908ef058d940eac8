import { changeSettings, readSettings, settingsResource } from '../accounts/settings.ts';
import { settingsPatchSchema, settingsSchema } from '../model/settings.ts';
import type { RoutesOf } from './routes.ts';

/** `/v1/settings`: time zone and daily digest of a tenant. */
export function addSettings(routesOf: RoutesOf): void {
  const account = routesOf('Account');
  account.get('/settings', {
    operationId: 'getSettings',
    summary: 'Get settings',
    scope: 'keys:read',
    answer: settingsSchema,
    handle: async ({ parts, tenantId }) => settingsResource(await readSettings(parts, tenantId)),
  });
  account.patch('/settings', {
    operationId: 'updateSettings',
    summary: 'Update settings',
    description:
      'Omitted members stay as they are. If the hour of the digest is the current one, it is created immediately, unless there was one today.',
    scope: 'keys:write',
    body: settingsPatchSchema,
    answer: settingsSchema,
    handle: async ({ parts, tenantId, body }) =>
      settingsResource(await changeSettings(parts, tenantId, body)),
  });
}
