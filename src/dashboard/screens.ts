import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CACHE_FOR_EVER, readPalette, represent, sendRepresentation } from '../http/representation.ts';
import { pathOf } from '../http/request-path.ts';
import { type Clock, DAY_MS, fromIso, HOUR_MS, toIso } from '../lib/clock.ts';
import { csrfField } from './cookies.ts';
import { eventLabel } from './delivery-words.ts';

/** One screen: its template, its title, and the data of the template. */
export interface Screen {
  template: string;
  title: string;
  status?: number;
  [shown: string]: unknown;
}

/** Renders a screen as HTML. */
export type Show = (request: FastifyRequest, reply: FastifyReply, screen: Screen) => FastifyReply;

/** Notices shown on the next screen, by code, so that a URL cannot place its own text on a page. */
const DONE: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  created: 'Created.',
  deleted: 'Deleted.',
  paused: 'Paused. Deliveries are held until you resume.',
  resumed: 'Resumed. Held deliveries are being sent.',
  replayed: 'The delivery is being resent.',
  'none-selected': 'No deliveries were selected.',
  'replayed-none': 'There were no deliveries to resend.',
  revoked: 'Revoked. The key no longer works.',
  assigned: 'Assigned.',
  awake: 'Back in the inbox.',
  snoozed: 'Snoozed until that morning.',
  'none-chosen': 'Nothing was selected, so nothing changed.',
  thanks: 'Thanks. Your ratings improve this profile.',
  added: 'Added to the pipeline.',
  moved: 'Moved.',
  'step-done': 'Done. The lead has no next step now.',
  'step-moved': 'Postponed.',
  'step-changed': 'This step was changed or completed in the meantime, so nothing changed.',
  'in-stage': 'It is already in that stage, so nothing changed.',
  'signed-out': 'You are logged out.',
  founded: 'This server already has an account. Log in with its email and password.',
  started: 'The run has started.',
  'source-added': 'Source added. Its first run is starting; new signals appear in your inbox.',
  accepted: 'Accepted. The profile was updated; you can undo this below.',
  dismissed: 'Dismissed. You can undo this below.',
  undone: 'Undone.',
  'samples-removed': 'Sample data removed.',
  'samples-kept': 'The remaining sample data belongs to a lead and stays with it.',
  removed: 'Removed and logged out.',
  password: 'Password changed. You were logged out everywhere else.',
  session: 'Session ended.',
  'factor-off': 'Two-factor authentication is off.',
  asked:
    'If an account exists for that address, we’ve sent it a link. The link works once and expires in an hour.',
  resent: 'The email is being resent.',
};

/** Compiles the templates; all output is escaped unless a template opts out. */
export function createScreens({ clock, assets }: { clock: Clock; assets: Assets }): Show {
  const views = fileURLToPath(new URL('./templates', import.meta.url));
  const eta = new Eta({ views, cache: true });
  return (request, reply, { status = 200, ...screen }) => {
    const path = pathOf(request.originalUrl);
    const signedIn = request.signedIn;
    const html = eta.render(`./${screen.template}`, {
      ...screen,
      assets,
      path,
      words: createWords(clock.now()),
      csrf: csrfField(request, reply),
      me:
        signedIn === null
          ? null
          : { email: signedIn.user.email, role: signedIn.user.role, tenant: signedIn.tenant },
      mayWrite: signedIn !== null && signedIn.user.role !== 'reader',
      isOwner: signedIn?.user.role === 'owner',
      done: wordsOfDone(request.query as { done?: unknown; count?: unknown }),
      navigation: NAVIGATION.map((group) => ({
        ...group,
        links: group.links.map((link) => ({ ...link, current: isCurrent(link.path, path) })),
      })),
    });
    return reply.code(status).type('text/html; charset=utf-8').send(html);
  };
}

/** The notice for a code, with the count from the URL if there is one. */
function wordsOfDone({ done, count }: { done?: unknown; count?: unknown }): string | null {
  if (typeof done !== 'string' || !Object.hasOwn(DONE, done)) return null;
  if (done !== 'replayed' || typeof count !== 'string' || !/^[1-9]\d{0,8}$/.test(count))
    return DONE[done] ?? null;
  return count === '1' ? 'One delivery is being resent.' : `${count} deliveries are being resent.`;
}

function isCurrent(link: string, path: string): boolean {
  return link === '/dashboard' ? path === link : path === link || path.startsWith(`${link}/`);
}

/** The navigation on every screen. */
export const NAVIGATION = [
  {
    name: 'Work',
    links: [
      { path: '/dashboard', label: 'Today' },
      { path: '/dashboard/signals', label: 'Signals' },
      { path: '/dashboard/sources', label: 'Sources' },
      { path: '/dashboard/leads', label: 'Leads' },
      { path: '/dashboard/pipeline', label: 'Pipeline' },
      { path: '/dashboard/companies', label: 'Companies' },
      { path: '/dashboard/campaigns', label: 'Campaigns' },
      { path: '/dashboard/profiles', label: 'Profiles' },
    ],
  },
  {
    name: 'Delivery',
    links: [
      { path: '/dashboard/settings/integrations/webhooks', label: 'Webhooks' },
      { path: '/dashboard/webhook-logs', label: 'Webhook Logs' },
      { path: '/dashboard/dead-letters', label: 'Dead letters' },
    ],
  },
  {
    name: 'Settings',
    links: [
      { path: '/dashboard/settings/api-keys', label: 'API keys' },
      { path: '/dashboard/settings/reply', label: 'Reply template' },
      { path: '/dashboard/settings/plan', label: 'Plan and usage' },
      { path: '/dashboard/settings/digest', label: 'Digest' },
      { path: '/dashboard/settings/team', label: 'Team' },
      { path: '/dashboard/settings/account', label: 'Your account' },
      { path: '/dashboard/settings/audit', label: 'Audit log' },
      { path: '/dashboard/settings/outbox', label: 'Account email' },
    ],
  },
];

const STEPS: [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', 60_000],
  ['second', 1_000],
];

/** How templates format numbers and times. Functions that return HTML have `Html` in their names. */
export interface Words {
  /** `<time>` with a relative time; the script adds the time in the viewer's own zone. */
  timeHtml(moment: string | number | null | undefined): string;
  /** "3 hours ago", "in 5 minutes". */
  ago(moment: string | number): string;
  /** Whether a time has passed. */
  isPast(moment: string | number): boolean;
  /** "1 retry", "2 retries". */
  count(n: number, one: string, many?: string): string;
  duration(ms: number): string;
  number(n: number): string;
  /** `signal_type` → "Signal type". */
  label(name: string): string;
  /** `signal.new_hot` → "New hot signal". */
  event(type: string): string;
}

/** Shown for an unknown value; narrow screens hide the whole line. */
const NONE_HTML = '<span class="none">–</span>';

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const grouped = new Intl.NumberFormat('en');

const SPELLED = new Map(
  ['DNS', 'HTTP', 'ICP', 'ID', 'IDs', 'LinkedIn', 'SMS', 'TLS', 'URL'].map((word) => [
    word.toLowerCase(),
    word,
  ]),
);

/** `signal_type` → "Signal type"; `linkedin_url` → "LinkedIn URL". */
export function labelOf(name: string): string {
  const words = name.split(/[_.]/).map((word) => SPELLED.get(word) ?? word);
  const label = words.join(' ');
  return label.charAt(0).toUpperCase() + label.slice(1);
}

function createWords(now: number): Words {
  const msOf = (moment: string | number) => (typeof moment === 'number' ? moment : fromIso(moment));
  function ago(moment: string | number): string {
    const difference = msOf(moment) - now;
    for (const [unit, ms] of STEPS) {
      if (Math.abs(difference) >= ms) return relative.format(Math.trunc(difference / ms), unit);
    }
    return 'just now';
  }
  return {
    ago,
    timeHtml(moment) {
      if (moment === null || moment === undefined || moment === '') return NONE_HTML;
      const ms = msOf(moment);
      if (Number.isNaN(ms)) return NONE_HTML;
      const iso = toIso(ms);
      const exact = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
      return `<time datetime="${iso}" title="${exact}">${ago(ms)}</time>`;
    },
    isPast: (moment) => msOf(moment) <= now,
    count: (n, one, many = `${one}s`) => `${grouped.format(n)} ${n === 1 ? one : many}`,
    duration: (ms) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`),
    number: (n) => grouped.format(n),
    label: labelOf,
    event: eventLabel,
  };
}

/** The order matters: later rules win. */
const STYLES = [
  ...['tokens.css', 'base.css', 'frame.css', 'parts.css', 'forms.css', 'tables.css'],
  ...['screens.css', 'work.css', 'lists.css', 'inbox.css', 'find.css', 'plots.css'],
];

/** Addresses of the stylesheet, the scripts and the icon, each with a hash of the file's bytes. */
interface Assets {
  style: string;
  scripts: string[];
  /** The script of the board; loaded on that screen only. */
  board: string;
  /** The script of the inbox; loaded on that screen only. */
  inbox: string;
  icon: string;
}

/** Serves the assets of the pages; no session is required, because they contain no data. */
export async function addAssets(app: FastifyInstance): Promise<Assets> {
  const styles = await Promise.all([readPalette(), ...STYLES.map((name) => read(`./styles/${name}`))]);
  return {
    style: serve(
      app,
      { name: 'dashboard', ending: 'css', type: 'text/css; charset=utf-8' },
      styles.join('\n'),
    ),
    scripts: await Promise.all(['dashboard', 'live', 'palette'].map((name) => serveScript(app, name))),
    board: await serveScript(app, 'board'),
    inbox: await serveScript(app, 'inbox'),
    icon: serve(app, { name: 'icon', ending: 'svg', type: 'image/svg+xml' }, await read('./styles/icon.svg')),
  };
}

async function serveScript(app: FastifyInstance, name: string): Promise<string> {
  const type = 'text/javascript; charset=utf-8';
  return serve(app, { name, ending: 'js', type }, await read(`./scripts/${name}.js`));
}

function read(name: string): Promise<string> {
  return readFile(new URL(name, import.meta.url), 'utf8');
}

function serve(
  app: FastifyInstance,
  { name, ending, type }: { name: string; ending: string; type: string },
  body: string,
): string {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 10);
  const path = `/assets/${name}.${hash}.${ending}`;
  const asset = represent({ body, contentType: type, cacheControl: CACHE_FOR_EVER, lastModified: null });
  app.get(path, { config: { open: true, isAsset: true } }, (request, reply) => {
    sendRepresentation(request, reply.removeHeader('cache-control'), asset);
  });
  return `${app.prefix}${path}`;
}
