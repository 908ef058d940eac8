import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { icpPatchSchema, icpResource } from '../model/icp.ts';
import { draftInputSchema } from '../model/icp-draft.ts';
import { signalFilters } from '../model/signal.ts';
import { draftForSeller } from '../signals/draft.ts';
import { changeProfile } from '../signals/profiles.ts';
import { addSamples, removeSamples } from '../signals/samples.ts';
import type { DashboardDeps } from './deps.ts';
import { type Form, faultsOf, formOf, LARGE_FORM, lines, text } from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { formOfProfile, SIGNAL_TYPE_WORDS, wishOf } from './profiles.ts';
import type { Show } from './screens.ts';
import { signalCards } from './signal-card.ts';

const MOST_SAMPLES = 12;

/**
 * First run, after the password: what is sold → a drafted profile → made-up posts scored with it → next steps. It can
 * be repeated at any time; it then changes the oldest profile.
 */
export function addStart(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store } = deps;

  app.get('/start', async (request, reply) => {
    const { tenant } = memberOf(request);
    const [page, [profile], endpoints, keys] = await Promise.all([
      store.listSignals(tenant.id, {
        ...signalFilters.of({ platform: 'sample', sort: '-icp_score' }),
        ...{ limit: MOST_SAMPLES, after: null, explain: true },
      }),
      store.listProfiles(tenant.id),
      store.countEndpoints(tenant.id),
      store.listKeys(tenant.id),
    ]);
    const signals = signalCards(page.json);
    if (signals.length === 0) return showOffer(request, reply);
    const said = await Promise.all(signals.map(({ signal_id: id }) => store.getFeedback(tenant.id, id)));
    return show(request, reply, {
      template: 'start-examples',
      title: 'How your profile scores',
      profile: profile === undefined ? null : icpResource(profile),
      examples: signals.map((signal, at) => ({ signal, said: said[at] ?? null })),
      hasWebhook: endpoints > 0,
      hasKey: keys.some(({ lastUsedAt }) => lastUsedAt !== null),
    });
  });

  async function showOffer(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const [first] = await store.listProfiles(memberOf(request).tenant.id);
    return show(request, reply, {
      template: 'start',
      title: 'What do you sell?',
      offer: '',
      domain: '',
      form: null,
      review: null,
      linesOf: lines,
      signalTypes: SIGNAL_TYPE_WORDS,
      faults: {},
      // The initial profile of an account can be replaced.
      replaced: first !== undefined && first.version > 1 ? icpResource(first) : null,
      ...shown,
    });
  }

  app.post('/start', LARGE_FORM, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const asked = { offer: text(form, 'offer'), domain: text(form, 'domain').trim() };
    if (text(form, 'act') !== 'use') {
      try {
        const input = checked(draftInputSchema, {
          offer: asked.offer,
          ...(asked.domain === '' ? {} : { domain: asked.domain }),
        });
        const { draft, review } = await draftForSeller(deps, tenant.id, input);
        return await showOffer(request, reply, { ...asked, form: formOfProfile(draft), review });
      } catch (error) {
        return showOffer(request, reply, { ...asked, status: 400, faults: faultsOf(error) });
      }
    }
    try {
      await useDraft(deps, request, form);
      return await reply.redirect('/dashboard/start', 303);
    } catch (error) {
      return showOffer(request, reply, { ...asked, form, status: 400, faults: faultsOf(error) });
    }
  });

  app.post('/start/samples', async (request, reply) => {
    const count = await removeSamples(store, memberOf(request).tenant.id);
    return reply.redirect(`/dashboard?done=${count === 0 ? 'samples-kept' : 'samples-removed'}`, 303);
  });
}

/** Replaces the tenant's initial profile with the draft, and shows how it scores posts. */
async function useDraft(deps: DashboardDeps, request: FastifyRequest, form: Form): Promise<void> {
  const { tenant } = memberOf(request);
  const [first] = await deps.store.listProfiles(tenant.id);
  if (first === undefined) throw new Error('a tenant has a profile at least');
  const patch = checked(icpPatchSchema, wishOf(form));
  await addSamples(deps, await changeProfile(deps, tenant, { id: first.id, patch }));
}
