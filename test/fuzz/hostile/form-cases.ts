import type { HostileCase } from './case.ts';
import { outcomeOf } from './case.ts';
import { SHAPES, type Shape } from './texts.ts';
import type { World } from './world.ts';

/** The maximum size of any form, and of most forms: anything larger is rejected before it is read. */
const FORM_BYTES = 1_000_000;
const USUAL_BYTES = 15_000;

interface FormPlace {
  path: string;
  fields: readonly string[];
  by: 'owner' | 'nobody';
  /** The other fields that a form needs to pass its first check. */
  rest?: Record<string, string>;
}

const PROFILE_FIELDS = [
  ...['name', 'description', 'phrases', 'excluded_phrases', 'competitors', 'industries', 'titles'],
  ...['headcount_ranges', 'locations', 'muted_authors', 'muted_sources', 'hot', 'weight_intent'],
];

const PLACES: readonly FormPlace[] = [
  { path: '/dashboard/login', fields: ['password', 'email', 'next'], by: 'nobody' },
  { path: '/dashboard/login/code', fields: ['pending', 'code'], by: 'nobody' },
  { path: '/dashboard/setup', fields: ['token', 'password', 'email', 'name'], by: 'nobody' },
  { path: '/dashboard/reset', fields: ['email'], by: 'nobody' },
  { path: '/dashboard/reset', fields: ['token', 'password'], by: 'nobody', rest: { token: 'x' } },
  { path: '/dashboard/logout', fields: ['x'], by: 'nobody' },
  { path: '/dashboard/profiles/new', fields: PROFILE_FIELDS, by: 'owner' },
  {
    path: '/dashboard/profiles/new',
    fields: PROFILE_FIELDS,
    by: 'owner',
    rest: { act: 'preview', name: 'A' },
  },
  { path: '/dashboard/start', fields: ['offer', 'domain'], by: 'owner' },
  {
    path: '/dashboard/sources/new',
    fields: ['url', 'query', 'tagged', 'name'],
    by: 'owner',
    rest: { kind: 'rss' },
  },
  { path: '/dashboard/sources/new', fields: ['place'], by: 'owner', rest: { act: 'guess' } },
  {
    path: '/dashboard/webhooks/new',
    fields: ['url', 'label', 'custom', 'topic'],
    by: 'owner',
    rest: { format: 'custom' },
  },
  { path: '/dashboard/settings/team', fields: ['email', 'name'], by: 'owner' },
  { path: '/dashboard/settings/api-keys', fields: ['name', 'rate_limit'], by: 'owner' },
  {
    path: '/dashboard/signals/triage',
    fields: ['id', 'act', 'one', 'back'],
    by: 'owner',
  },
  {
    path: '/dashboard/signals/triage',
    fields: ['assignee', 'until', 'until_day'],
    by: 'owner',
    rest: { act: 'snooze', id: 'sig_1' },
  },
  { path: '/dashboard/signals/views', fields: ['name', 'query'], by: 'owner', rest: { query: 'q=a' } },
  { path: '/dashboard/settings/reply', fields: ['template'], by: 'owner' },
  { path: '/dashboard/settings/digest', fields: ['timezone', 'hour', 'recipients'], by: 'owner' },
  { path: '/dashboard/settings/integrations/slack', fields: ['url'], by: 'owner' },
  { path: '/dashboard/sources/suggested', fields: ['icp', 'place'], by: 'owner' },
  { path: '/dashboard/webhook-logs/replay-all', fields: ['webhook_id', 'from', 'back'], by: 'owner' },
  { path: '/dashboard/settings/account/password', fields: ['current', 'password'], by: 'owner' },
];

const SCREENS = [
  '/find?q=',
  '/signals?q=',
  '/leads?q=',
  '/companies?q=',
  '/campaigns?q=',
  '/signals?cursor=',
  '/signals?assignee=',
  '/signals?min_score=',
  '/leads?tag=',
  '/webhook-logs?status=',
  '/sources/suggested?icp=',
];

/** Every dashboard form whose text is processed, and the screens with a search. */
export function formCases(): HostileCase[] {
  return [
    ...PLACES.flatMap((place) =>
      place.fields.flatMap((field) =>
        SHAPES.flatMap((shape) =>
          [USUAL_BYTES, FORM_BYTES].map((size) => formCase(place, field, shape, size)),
        ),
      ),
    ),
    ...PLACES.flatMap((place) => [wideCase(place), repeatedCase(place), jsonCase(place)]),
    ...SCREENS.flatMap((screen) => SHAPES.map((shape) => screenCase(screen, shape))),
  ];
}

function formCase(place: FormPlace, field: string, shape: Shape, size: number): HostileCase {
  return {
    name: `dashboard: ${place.path.slice(10)}${place.rest?.act ? ` (${place.rest.act})` : ''}, ${field} of ${shape.name}${size === USUAL_BYTES ? '' : ', a megabyte'}`,
    size,
    async run({ post }) {
      const text = fitting(shape, size);
      return outcomeOf(await post(place.path, { ...place.rest, [field]: text }, place.by));
    },
  };
}

/** Text of about `bytes` in a form or a query, where a character takes up to nine bytes. */
function fitting(shape: Shape, bytes: number): string {
  const sample = 3_000;
  const each = encodeURIComponent(shape.of(sample).toWellFormed()).length / sample;
  return shape.of(Math.floor(bytes / Math.max(1, each))).toWellFormed();
}

function wideCase({ path, by }: FormPlace): HostileCase {
  const form = Array.from({ length: 110_000 }, (_, n) => `${n.toString(36)}=`).join('&');
  return ofForm(`dashboard: ${path.slice(10)}, a form of 110,000 names`, { path, form, by });
}

function repeatedCase({ path, by, fields: [field] }: FormPlace): HostileCase {
  const form = `${field}=a&`.repeat(Math.floor(FORM_BYTES / (String(field).length + 3)));
  return ofForm(`dashboard: ${path.slice(10)}, ${field} very many times`, { path, form, by });
}

function jsonCase({ path }: FormPlace): HostileCase {
  const body = `{"_csrf":"x","email":[${'{"toString":1},'.repeat(60_000)}1]}`;
  return {
    name: `dashboard: ${path.slice(10)}, a form of JSON`,
    size: body.length,
    run: async ({ send }) =>
      outcomeOf(await send({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body })),
  };
}

function ofForm(name: string, sent: { path: string; form: string; by: 'owner' | 'nobody' }): HostileCase {
  return {
    name,
    size: sent.form.length,
    run: async (world: World) => outcomeOf(await world.post(sent.path, sent.form, sent.by)),
  };
}

function screenCase(screen: string, shape: Shape): HostileCase {
  return {
    name: `dashboard: ${screen} ${shape.name}`,
    size: USUAL_BYTES,
    async run(world) {
      return outcomeOf(
        await world.screen(`/dashboard${screen}${encodeURIComponent(fitting(shape, USUAL_BYTES))}`),
      );
    },
  };
}
