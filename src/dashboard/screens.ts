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

/** What was done, told on the screen that follows; by code, so that no address puts its own words on a page. */
const DONE: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  created: 'Created.',
  deleted: 'Deleted.',
  paused: 'Paused. What is due is held until you resume.',
  resumed: 'Resumed. What was held is being sent.',
  replayed: 'It is being sent again.',
  'none-selected': 'No delivery was selected.',
  'replayed-none': 'There was nothing to send again.',
  revoked: 'Revoked. The key works no more.',
  assigned: 'Assigned.',
  awake: 'Back in the inbox.',
  snoozed: 'Snoozed. It comes back on that morning.',
  'none-chosen': 'Nothing was selected, so nothing was changed.',
  thanks: 'Thank you. That helps the next ones.',
  added: 'Added to the pipeline.',
  moved: 'Moved.',
  'step-done': 'Done. The lead has no next step now.',
  'step-moved': 'Postponed.',
  'step-changed': 'That step has been changed or done meanwhile; nothing was changed.',
  'in-stage': 'It is in that stage already; nothing was changed.',
  'signed-out': 'You are logged out.',
  founded: 'The account of this server is there already: log in with its email and password.',
  started: 'It runs now.',
  'source-added': 'Source added. Its first run starts now.',
  accepted: 'Accepted. The profile is changed; you can undo that below.',
  dismissed: 'Dismissed. You can undo that below.',
  undone: 'Undone.',
  'samples-removed': 'The sample data is removed.',
  'samples-kept': 'What is left of the sample data belongs to a lead and stays with it.',
  removed: 'Removed. They are logged out.',
  password: 'The password is changed. Every other session has ended.',
  session: 'Ended. Whoever used it is logged out.',
  'factor-off': 'The second factor is off.',
  asked: 'If somebody has that address, a mail with a link was written to it. It works once, for an hour.',
  resent: 'It is sent again.',
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
  return count === '1' ? 'One delivery is being sent again.' : `${count} deliveries are being sent again.`;
}

function isCurrent(link: string, path: string): boolean {
  return link === '/dashboard' ? path === link : path === link || path.startsWith(`${link}/`);
}
