import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from '../http/request-path.ts';
import type { Clock } from '../lib/clock.ts';
import type { Assets } from './assets.ts';
import { csrfField } from './csrf.ts';
import { NAVIGATION } from './navigation.ts';
import { createWords } from './words.ts';

/** One screen: its template, its title, and whatever the template shows. */
export interface Screen {
  template: string;
  title: string;
  status?: number;
  [shown: string]: unknown;
}

/** Shows a screen as HTML. */
export type Show = (request: FastifyRequest, reply: FastifyReply, screen: Screen) => FastifyReply;

/** What was done, shown on the next screen; by code, so that no address puts its own words on a page. */
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
  'source-added': 'Source added. Its first run is starting.',
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

/** Compiles the templates; everything that they print is escaped unless a template says otherwise. */
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

/** What was done, with how many there were where the address says so. */
function wordsOfDone({ done, count }: { done?: unknown; count?: unknown }): string | null {
  if (typeof done !== 'string' || !Object.hasOwn(DONE, done)) return null;
  if (done !== 'replayed' || typeof count !== 'string' || !/^[1-9]\d{0,8}$/.test(count))
    return DONE[done] ?? null;
  return count === '1' ? 'One delivery is being resent.' : `${count} deliveries are being resent.`;
}

function isCurrent(link: string, path: string): boolean {
  return link === '/dashboard' ? path === link : path === link || path.startsWith(`${link}/`);
}
