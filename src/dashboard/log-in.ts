import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { MailLimits } from '../accounts/mail.ts';
import { mailResetLinks } from '../accounts/own-account.ts';
import { createWrongPasswords, MIN_PASSWORD_CHARACTERS, RESET_TRIES } from '../accounts/passwords.ts';
import {
  finishSignIn,
  type SignInDeps,
  signIn,
  signOut,
  type Trying,
  tooMany,
  usePasswordLink,
} from '../accounts/sign-in.ts';
import { foundAccount, isFoundingLink, isUnfounded } from '../accounts/tenants.ts';
import { clientOf } from '../http/limits.ts';
import { onceOver } from '../http/once-over.ts';
import { problemStatus } from '../http/problems.ts';
import { DomainError } from '../model/errors.ts';
import { sessionCookie } from './cookies.ts';
import type { DashboardDeps } from './deps.ts';
import { faultsOf, formOf, queryOf, text } from './forms.ts';
import type { Show } from './screens.ts';

const COMMANDS = {
  tenant: 'signalpost tenant create --name "Your firm" --email you@example.com',
  link: 'signalpost tenant setup-link TENANT',
  reset: 'signalpost owner reset --email you@example.com',
};

/** Log-in, log-out, and choosing a password with a one-time link. */
export function addLogIn(
  app: FastifyInstance,
  deps: DashboardDeps & SignInDeps & { mailLimits: MailLimits },
  show: Show,
): void {
  addLogInScreen(app, deps, show);
  addLinkScreen(app, deps, show, { path: '/setup', title: 'Set up your account', after: '/dashboard' });
  addLinkScreen(app, deps, show, {
    ...{ path: '/reset', title: 'Choose a new password', after: '/dashboard' },
    otherwise: createResetAsker(deps),
  });
  const cookie = sessionCookie(deps);
  app.post('/logout', { config: { open: true } }, async (request, reply) => {
    const token = cookie.read(request);
    if (token !== null) await signOut(deps, token);
    cookie.clear(reply);
    return reply.redirect('/dashboard/login?done=signed-out', 303);
  });
}

function addLogInScreen(app: FastifyInstance, deps: DashboardDeps & SignInDeps, show: Show): void {
  /** Instructions if there is no account yet. */
  async function firstSteps(): Promise<{ lead: string; command: string } | null> {
    if (await deps.store.anyPassword()) return null;
    return (await isUnfounded(deps.store))
      ? {
          lead: 'There is no account yet. Open the link that the server printed when it started, or create an account with this command, which prints a set-up link and an API key:',
          command: COMMANDS.tenant,
        }
      : {
          lead: 'No password has been set yet. Open the set-up link printed when the account was created, or print a new one ("signalpost tenant list" shows the IDs):',
          command: COMMANDS.link,
        };
  }

  app.get('/login', { config: { open: true } }, async (request, reply) => {
    const query = queryOf(request);
    const next = ownPath(text(query, 'next'));
    if (request.signedIn !== null) return reply.redirect(next, 303);
    const screen = { template: 'log-in', title: 'Log in', next, email: '', fault: null };
    return show(request, reply, { ...screen, first: await firstSteps() });
  });

  app.post('/login', { config: { open: true } }, async (request, reply) => {
    const form = formOf(request);
    const next = ownPath(text(form, 'next'));
    const email = text(form, 'email');
    try {
      const made = await signIn(deps, {
        email,
        password: text(form, 'password'),
        ...tryingOf(deps, request, reply),
      });
      if ('pending' in made) {
        const screen = { template: 'log-in-code', title: 'Log in', pending: made.pending, fault: null };
        return show(request, reply, { ...screen, next });
      }
      await enter(deps, { request, reply, token: made.token });
      return reply.redirect(next, 303);
    } catch (error) {
      const { fault, status } = refusedLogIn(reply, error);
      const screen = { template: 'log-in', title: 'Log in', next, email, fault };
      return show(request, reply, { ...screen, status, first: await firstSteps() });
    }
  });
  app.post('/login/code', { config: { open: true } }, async (request, reply) => {
    const form = formOf(request);
    const next = ownPath(text(form, 'next'));
    const pending = text(form, 'pending');
    try {
      const { token } = await finishSignIn(deps, {
        pending,
        code: text(form, 'code'),
        ...tryingOf(deps, request, reply),
      });
      await enter(deps, { request, reply, token });
      return reply.redirect(next, 303);
    } catch (error) {
      const { fault, status } = refusedLogIn(reply, error);
      const screen = { template: 'log-in-code', title: 'Log in', pending, fault };
      return show(request, reply, { ...screen, status, next });
    }
  });
}

/** The client of a log-in attempt, for rate limits and the audit log. */
function tryingOf(deps: DashboardDeps, request: FastifyRequest, reply: FastifyReply): Trying {
  const fault = 'a refused log-in could not be written into the audit list';
  return {
    client: clientOf(request),
    browser: browserWords(request.headers['user-agent']),
    afterwards: afterAnswer(deps, { request, reply, fault }),
  };
}

/** Starts a new session in the browser, and ends its previous one. */
async function enter(
  deps: DashboardDeps,
  { request, reply, token }: { request: FastifyRequest; reply: FastifyReply; token: string },
): Promise<void> {
  const cookie = sessionCookie(deps);
  const before = cookie.read(request);
  if (before !== null) await signOut(deps, before);
  cookie.set(reply, token);
}

/** The message for a refused log-in. Rethrows any error that is not a refusal. */
function refusedLogIn(reply: FastifyReply, error: unknown): { fault: string; status: number } {
  if (!(error instanceof DomainError)) throw error;
  const wait = error.extra.retryAfterSeconds;
  if (wait !== undefined) reply.header('retry-after', String(wait));
  return { fault: error.message, status: problemStatus(error.code) };
}

interface LinkScreen {
  path: string;
  title: string;
  after: string;
  /** Handles a form submitted without a link token. */
  otherwise?: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

/** The token follows the `#`, which browsers do not send; the script copies it into the form, or the user does. */
function addLinkScreen(
  app: FastifyInstance,
  deps: DashboardDeps & SignInDeps,
  show: Show,
  { path, title, after, otherwise }: LinkScreen,
): void {
  const cookie = sessionCookie(deps);
  const screen = {
    template: 'set-up',
    title,
    action: `/dashboard${path}`,
    isReset: path === '/reset',
    sendsMail: deps.sendsMail,
    least: MIN_PASSWORD_CHARACTERS,
    command: path === '/reset' ? COMMANDS.reset : COMMANDS.link,
  };
  /** The extra fields for the first account; null if an account exists. */
  async function founding(name = '', email = ''): Promise<{ name: string; email: string } | null> {
    return path === '/setup' && (await isUnfounded(deps.store)) ? { name, email } : null;
  }
  app.get(path, { config: { open: true } }, async (request, reply) =>
    show(request, reply, { ...screen, link: '', faults: {}, founding: await founding() }),
  );
  app.post(path, { config: { open: true } }, async (request, reply) => {
    const form = formOf(request);
    const link = text(form, 'token');
    if (otherwise !== undefined && !Object.hasOwn(form, 'token')) return otherwise(request, reply);
    const first = await founding(text(form, 'name'), text(form, 'email'));
    try {
      const input = { password: text(form, 'password'), ...tryingOf(deps, request, reply) };
      const founds = path === '/setup' && isFoundingLink(deps.cursors, link);
      const made = await (founds
        ? foundAccount(deps, { ...input, name: text(form, 'name'), email: text(form, 'email') })
        : usePasswordLink(deps, { ...input, link }));
      if (made === null) {
        return reply.redirect(`/dashboard/login?done=${founds ? 'founded' : 'password'}`, 303);
      }
      cookie.set(reply, made.token);
      return reply.redirect(after, 303);
    } catch (error) {
      return show(request, reply, {
        ...screen,
        ...{ status: 400, link, faults: faultsOf(error), founding: first },
      });
    }
  });
}

/**
 * An address within this dashboard, or its start page: a link's target must not lead to another site (`//evil`,
 * `/\evil`), and only a URL's characters can be sent in `Location`.
 */
function ownPath(next: string): string {
  return /^\/dashboard(?:[/?][!-[\]-~]*)?$/.test(next) && !next.startsWith('/dashboard/log')
    ? next
    : '/dashboard';
}

/**
 * Sends a link for a new password to an address. Response and response time are the same whether the address is known
 * or not: the mail is written after the response has been sent.
 */
function createResetAsker(deps: DashboardDeps & { mailLimits: MailLimits }) {
  const { shareCounts } = deps.store;
  const tries = createWrongPasswords(deps.clock, RESET_TRIES, { name: 'password links', shareCounts });
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const email = text(formOf(request), 'email');
    const wait = tries.take(email, clientOf(request));
    if (wait !== null) throw tooMany(wait.ms);
    const mailWaitMs = await deps.mailLimits.reset(email);
    if (mailWaitMs !== null) throw tooMany(mailWaitMs);
    const afterwards = afterAnswer(deps, { request, reply, fault: 'a reset mail could not be written' });
    afterwards(() => mailResetLinks(deps, email));
    return reply.redirect('/dashboard/reset?done=asked', 303);
  };
}

/**
 * Runs work after the response has been sent, outside the request's trace: neither its duration nor its existence may
 * be observable from outside. If it fails, `fault` is the message in the log.
 */
function afterAnswer(
  { store, logger }: Pick<DashboardDeps, 'store' | 'logger'>,
  { request, reply, fault }: { request: FastifyRequest; reply: FastifyReply; fault: string },
): (work: () => Promise<void>) => void {
  return (work) => {
    onceOver(reply.raw, () => {
      store.as(null, work).catch((err: unknown) => logger.error({ err, request_id: request.id }, fault));
    });
  };
}

const BROWSERS: [mark: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: [mark: RegExp, name: string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b|\biPad\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** A readable name for a browser, such as "Firefox on Linux"; empty if the user agent is unknown. */
function browserWords(userAgent: string | undefined): string {
  const named = (list: typeof BROWSERS) => list.find(([mark]) => mark.test(userAgent ?? ''))?.[1];
  return [named(BROWSERS), named(SYSTEMS)].filter((name) => name !== undefined).join(' on ');
}
