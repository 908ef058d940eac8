import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createKey, revokeKey } from '../accounts/keys.ts';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { keyInputSchema, keyResource, presetScopes, SCOPE_PRESETS, SCOPES } from '../model/key.ts';
import { type Form, faultsOf, formOf, number, text } from './forms.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const PATH = '/settings/api-keys';

/** Settings → API keys: each shown whole once, when it is made. Owners alone make and revoke them. */
export function addApiKeys(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  async function showKeys(request: FastifyRequest, reply: FastifyReply, shown: Record<string, unknown> = {}) {
    const { tenant } = memberOf(request);
    const keys = await parts.store.listKeys(tenant.id);
    return show(request, reply, {
      template: 'api-keys',
      title: 'API keys',
      keys: keys.map(keyResource).reverse(),
      may,
      baseUrl: parts.baseUrl,
      form: { name: '', preset: 'read', rate_limit: '600' },
      faults: {},
      made: null,
      ...shown,
    });
  }

  app.get(PATH, (request, reply) => showKeys(request, reply));
  app.post(PATH, { config: { showsSecret: true, forOwners: true } }, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    try {
      // An owner may do everything, and so may hand out every scope.
      const caller = { key: { tenantId: tenant.id, scopes: [...SCOPES] }, tenant };
      const { key, apiKey } = await createKey(parts, caller, inputOf(form));
      return await showKeys(request, reply, { made: { name: key.name, apiKey } });
    } catch (error) {
      return showKeys(request, reply, { form, faults: faultsOf(error), status: 400 });
    }
  });
  app.post<{ Params: { id: string } }>(
    `${PATH}/:id/revoke`,
    { config: { forOwners: true } },
    async (request, reply) => {
      const { tenant } = memberOf(request);
      await revokeKey(parts, { tenantId: tenant.id, scopes: [...SCOPES] }, request.params.id);
      return reply.redirect(`/dashboard${PATH}?done=revoked`, 303);
    },
  );
}

const PRESET_WORDS = {
  read: 'Read everything',
  write: 'Read and write everything except keys',
  admin: 'Full access',
} as const satisfies Record<(typeof SCOPE_PRESETS)[number], string>;

/** What a key may do, in a few words where that is a preset. */
function may(scopes: readonly string[]): string {
  const preset = SCOPE_PRESETS.find((name) => presetScopes(name)?.join() === scopes.join());
  return preset === undefined ? scopes.join(', ') : PRESET_WORDS[preset];
}

function inputOf(form: Form) {
  const expires = text(form, 'expires_at');
  const wish = {
    name: text(form, 'name'),
    preset: text(form, 'preset'),
    rate_limit: number(form, 'rate_limit') ?? undefined,
    ...(expires === '' ? {} : { expires_at: `${expires}T23:59:59Z` }),
  };
  const checked = check(keyInputSchema, wish, 'body');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}
