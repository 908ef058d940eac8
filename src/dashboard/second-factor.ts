import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import { askPassword } from '../accounts/own-account.ts';
import { confirmFactor, offerFactor, renewRecoveryCodes } from '../accounts/second-factor.ts';
import type { SignInParts } from '../accounts/sign-in.ts';
import { ACCOUNT, OWN, selfOf } from './account.ts';
import { faultsOf, formOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const PATH = `${ACCOUNT}/second-factor`;
/** Readers need so much of white around (ISO/IEC 18004, 5.3.8). */
const QUIET_MODULES = 4;

/** Settings → Account → Second factor: a code of an authenticator beside the password. */
export function addSecondFactor(app: FastifyInstance, parts: DashboardParts & SignInParts, show: Show): void {
  const config = { ...OWN, showsSecret: true } as const;

  async function showOffer(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const { key, uri } = await offerFactor(parts, memberOf(request).user);
    return show(request, reply, {
      template: 'second-factor',
      title: 'Second factor',
      ...{ key, uri, picture: renderSVG(uri, { border: QUIET_MODULES }), faults: {} },
      ...shown,
    });
  }

  function showCodes(request: FastifyRequest, reply: FastifyReply, codes: string[]) {
    return show(request, reply, { template: 'recovery-codes', title: 'Recovery codes', codes });
  }

  /** What lessens one's own protection asks for the password again: a browser left open is not its owner. */
  async function withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const password = text(formOf(request), 'password');
    try {
      await askPassword(parts, selfOf(request), { password, pointer: '/password' });
    } catch (error) {
      const faults = faultsOf(error);
      const screen = { template: 'second-factor-password', title: 'Second factor', faults, status: 400 };
      return show(request, reply, { ...screen, action: request.originalUrl });
    }
    return await work();
  }

  app.post(PATH, { config }, (request, reply) => showOffer(request, reply));
  app.post(`${PATH}/confirm`, { config }, async (request, reply) => {
    try {
      const code = text(formOf(request), 'code');
      return showCodes(request, reply, await confirmFactor(parts, memberOf(request).user, code));
    } catch (error) {
      return showOffer(request, reply, { faults: faultsOf(error), status: 400 });
    }
  });
  app.post(`${PATH}/codes`, { config }, (request, reply) =>
    withPassword(request, reply, async () =>
      showCodes(request, reply, await renewRecoveryCodes(parts, memberOf(request).user)),
    ),
  );
  app.post(`${PATH}/off`, { config }, (request, reply) =>
    withPassword(request, reply, async () => {
      await parts.store.dropFactor(memberOf(request).user.id);
      return reply.redirect(`/dashboard${ACCOUNT}?done=factor-off`, 303);
    }),
  );
}
