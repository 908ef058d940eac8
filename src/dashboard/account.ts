import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  changeOwnPassword,
  endOtherSessions,
  endOwnSession,
  listOwnSessions,
  type Self,
} from '../accounts/own-account.ts';
import { MIN_PASSWORD_CHARACTERS } from '../accounts/passwords.ts';
import type { SignInParts } from '../accounts/sign-in.ts';
import { clientOf } from '../http/limits.ts';
import { faultsOf, formOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

/** Where one's own account is looked after. */
export const ACCOUNT = '/settings/account';

/** What is one's own may be changed by readers too. */
export const OWN = { forReaders: true } as const;

/** Settings → Account: one's own password, and where one is signed in. */
export function addAccount(app: FastifyInstance, parts: DashboardParts & SignInParts, show: Show): void {
  async function showAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const self = selfOf(request);
    const [sessions, factor] = await Promise.all([
      listOwnSessions(parts, self),
      parts.store.getFactor(self.user.id),
    ]);
    return show(request, reply, {
      template: 'account',
      title: 'Your account',
      sessions: sessions.map(({ tokenHash, ...session }) => ({
        ...session,
        isThis: tokenHash === self.session.tokenHash,
      })),
      factor: factor === null || factor.since === null ? null : factor,
      least: MIN_PASSWORD_CHARACTERS,
      faults: {},
      ...shown,
    });
  }

  app.get(ACCOUNT, (request, reply) => showAccount(request, reply));
  app.post(`${ACCOUNT}/password`, { config: OWN }, async (request, reply) => {
    const form = formOf(request);
    const wish = { oldPassword: text(form, 'old_password'), password: text(form, 'password') };
    try {
      await changeOwnPassword(parts, selfOf(request), wish);
      return reply.redirect(`/dashboard${ACCOUNT}?done=password`, 303);
    } catch (error) {
      return showAccount(request, reply, { faults: faultsOf(error), status: 400 });
    }
  });
  app.post<{ Params: { id: string } }>(
    `${ACCOUNT}/sessions/:id/end`,
    { config: OWN },
    async (request, reply) => {
      await endOwnSession(parts, selfOf(request), request.params.id);
      return reply.redirect(`/dashboard${ACCOUNT}?done=session`, 303);
    },
  );
  app.post(`${ACCOUNT}/sessions/end`, { config: OWN }, async (request, reply) => {
    await endOtherSessions(parts, selfOf(request));
    return reply.redirect(`/dashboard${ACCOUNT}?done=session`, 303);
  });
}

/** Who asks, for what is their own. */
export function selfOf(request: FastifyRequest): Self {
  return { ...memberOf(request), client: clientOf(request) };
}
