import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../model/errors.ts';
import { type IcpProfile, icpResource } from '../model/icp.ts';
import { sourceInputSchema } from '../model/source.ts';
import { NEEDS_OWN_APP, type Place, placeNamed, proposePlaces } from '../signals/places.ts';
import { createSource, type SourcePreview } from '../signals/source-management.ts';
import { type Form, faultsOf, formOf, queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { kindWords } from './source-form.ts';

const PROPOSED = 6;
/** Sources that are known not to be proposed again; a tenant with more knows its way. */
const MOST_SOURCES = 200;
const PATH = '/sources/suggested';

/** Places that fit a profile, each with what its last 24 hours would have brought, and a source of it by one click. */
export function addSourceSuggestions(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  async function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    { asked, ...shown }: { asked: string; [shown: string]: unknown },
  ) {
    const { tenant } = memberOf(request);
    const profiles = (await parts.store.listProfiles(tenant.id)).filter(({ active }) => active);
    const profile = chosenOf(profiles, asked);
    const sources = await parts.store.pageSources(tenant.id, { limit: MOST_SOURCES, after: null });
    const places =
      profile === null
        ? []
        : await proposePlaces(profile, {
            encoder: parts.encoder ?? null,
            sources: sources.rows,
            count: PROPOSED,
          });
    return show(request, reply, {
      template: 'source-suggestions',
      title: 'Suggested sources',
      profile: profile && icpResource(profile),
      profiles: profiles.map(icpResource),
      places: places.map(shownPlace),
      mayPreview: parts.previewSource !== undefined,
      previewed: null,
      preview: null,
      fault: null,
      ...shown,
    });
  }

  app.get(PATH, (request, reply) => screen(request, reply, { asked: text(queryOf(request), 'icp') }));
  app.post(PATH, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const asked = text(form, 'icp');
    const { profile, place } = await wishOf(parts, tenant.id, form);
    if (text(form, 'act') === 'preview') {
      const preview: SourcePreview = (await parts.previewSource?.(tenant.id, profile.id, place)) ?? {
        fault: 'This server does not read sources.',
      };
      return screen(request, reply, { asked, previewed: place.name, preview });
    }
    try {
      const { kind, name, settings } = place;
      const given = Object.entries(settings).filter(([, value]) => value !== null);
      const wish = { kind, name, ...Object.fromEntries(given), icp_profile_ids: [profile.id] };
      await createSource(parts, tenant, checked(sourceInputSchema, wish));
    } catch (error) {
      const fault = Object.values(faultsOf(error)).join(' ');
      return screen(request, reply, { asked, fault, status: 400 });
    }
    const back = new URLSearchParams({ icp: profile.id, done: 'source-added' });
    return reply.redirect(`/dashboard${PATH}?${back}`, 303);
  });
}

/** The profile that is asked for, else the first that says what is sold. */
function chosenOf(profiles: readonly IcpProfile[], asked: string): IcpProfile | null {
  const named = profiles.find(({ id }) => id === asked);
  return named ?? profiles.find(({ offer }) => offer !== '') ?? profiles[0] ?? null;
}

async function wishOf(
  { store }: DashboardParts,
  tenantId: string,
  form: Form,
): Promise<{ profile: IcpProfile; place: Place }> {
  const profile = (await store.listProfiles(tenantId)).find(({ id }) => id === text(form, 'icp'));
  const place = profile === undefined ? null : placeNamed(text(form, 'place'), profile);
  if (profile === undefined || place === null || NEEDS_OWN_APP.includes(place.kind)) {
    throw new DomainError('NOT_FOUND', 'This suggestion is no longer available.', {
      hint: 'Reload the suggested sources.',
    });
  }
  return { profile, place };
}

function shownPlace(place: Place) {
  const { url, query, site, tagged, tag } = place.settings;
  const asks = tagged?.join(', ') ?? tag ?? query;
  return {
    name: place.name,
    about: place.about,
    kind: kindWords(place.kind),
    where: url ?? site ?? '',
    asks: asks ?? '',
    needsApp: NEEDS_OWN_APP.includes(place.kind),
  };
}
