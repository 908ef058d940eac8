import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { changeSettings, readSettings } from '../accounts/settings.ts';
import { toIso } from '../lib/clock.ts';
import { settingsPatchSchema } from '../model/tenant.ts';
import { type Form, type FormFaults, faultsOf, formOf, number, text, texts, ticked } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const PATH = '/settings/digest';
const ZONES = Intl.supportedValuesOf('timeZone');

/** When the digest comes, of which profiles and to whom; and for everybody whether it comes to them. */
export function addDigestSettings(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const { store } = parts;
  async function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: { form?: Form; faults?: FormFaults; status?: number } = {},
  ) {
    const { tenant, user } = memberOf(request);
    const [{ timezone, digest }, stored, members, profiles] = await Promise.all([
      readSettings(parts, tenant.id),
      store.getSettings(tenant.id),
      store.listMembers(tenant.id),
      store.listProfiles(tenant.id),
    ]);
    const dueAt = stored?.digestDueAt ?? 0;
    return show(request, reply, {
      template: 'digest-settings',
      title: 'Digest',
      form: {
        enabled: digest.enabled ? 'on' : '',
        hour: String(digest.hour),
        timezone,
        frequency: digest.frequency,
        icp_profile_ids: digest.icp_profile_ids,
        recipients: digest.recipients,
      },
      faults: {},
      zones: ZONES,
      members,
      profiles,
      getsIt: digest.recipients.includes(user.email),
      sendsMail: parts.sendsMail,
      nextAt: digest.enabled && dueAt > 0 ? toIso(dueAt) : null,
      ...shown,
    });
  }

  app.get(PATH, (request, reply) => screen(request, reply));
  app.post(PATH, { config: { forOwners: true } }, async (request, reply) => {
    const form = formOf(request);
    try {
      await changeSettings(parts, memberOf(request).tenant.id, checked(settingsPatchSchema, wishOf(form)));
    } catch (error) {
      return screen(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard${PATH}?done=saved`, 303);
  });
  app.post(`${PATH}/mine`, { config: { forReaders: true } }, async (request, reply) => {
    const { tenant, user } = memberOf(request);
    await store.setDigestReader(tenant.id, user.id, ticked(formOf(request), 'wanted'));
    return reply.redirect(`/dashboard${PATH}?done=saved`, 303);
  });
}

function wishOf(form: Form): unknown {
  return {
    timezone: text(form, 'timezone'),
    digest: {
      enabled: ticked(form, 'enabled'),
      hour: number(form, 'hour') ?? undefined,
      frequency: text(form, 'frequency') || undefined,
      icp_profile_ids: texts(form, 'icp_profile_ids'),
      recipients: texts(form, 'recipients'),
    },
  };
}
