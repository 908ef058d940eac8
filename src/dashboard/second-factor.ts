import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderSVG } from 'uqr';
import { askPassword, isProven, mailOf, proofOf, type Self } from '../accounts/own-account.ts';
import { confirmFactor, offerFactor, renewRecoveryCodes } from '../accounts/second-factor.ts';
import type { SignInParts } from '../accounts/sign-in.ts';
import { ACCOUNT, OWN, selfOf } from './account.ts';
import { type FormFaults, faultsOf, formOf, text } from './forms.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';

const PATH = `${ACCOUNT}/second-factor`;
const PROOF_IS_OLD = { '': 'That took too long. Enter your password again.' };
/** Readers need so much of white around (ISO/IEC 18004, 5.3.8). */
const QUIET_MODULES = 4;

/** Settings → Account → Two-factor authentication: a code of an authenticator beside the password. */
export function addSecondFactor(app: FastifyInstance, parts: DashboardParts & SignInParts, show: Show): void {
  const config = { ...OWN, showsSecret: true } as const;

  async function showOffer(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Record<string, unknown> = {},
  ) {
    const self = selfOf(request);
    const { key, uri } = await offerFactor(parts, self.user);
    return show(request, reply, {
      template: 'second-factor',
      title: 'Two-factor authentication',
      proof: proofOf(parts, self),
      ...{ key, uri, picture: renderSVG(uri, { border: QUIET_MODULES }), faults: {} },
      ...shown,
    });
  }

  const renewCodes = (self: Self) =>
    renewRecoveryCodes(parts, self.user, mailOf(parts, self, 'recovery_codes'));

  function showCodes(request: FastifyRequest, reply: FastifyReply, codes: string[]) {
    return show(request, reply, { template: 'recovery-codes', title: 'Recovery codes', codes });
  }

  function askForPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: { action: string; faults: FormFaults },
  ) {
    const screen = { template: 'second-factor-password', title: 'Two-factor authentication', status: 400 };
    return show(request, reply, { ...screen, ...asked });
  }

  /** What changes how one logs in asks for the password again: a browser left open is not its owner. */
  async function withPassword(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    const password = text(formOf(request), 'password');
    try {
      await askPassword(parts, selfOf(request), { password, pointer: '/password' });
    } catch (error) {
      return askForPassword(request, reply, { action: request.originalUrl, faults: faultsOf(error) });
    }
    return await work();
  }

  app.post(PATH, { config }, (request, reply) =>
    withPassword(request, reply, () => showOffer(request, reply)),
  );
  app.post(`${PATH}/confirm`, { config }, async (request, reply) => {
    const self = selfOf(request);
    const form = formOf(request);
    // The offered secret is not shown again to who did not give the password.
    if (!isProven(parts, self, text(form, 'proof'))) {
      return askForPassword(request, reply, { action: `/dashboard${PATH}`, faults: PROOF_IS_OLD });
    }
    try {
      const mail = mailOf(parts, self, 'second_factor_on');
      const change = { code: text(form, 'code'), keep: self.session.tokenHash, mail };
      return showCodes(request, reply, await confirmFactor(parts, self.user, change));
    } catch (error) {
      return showOffer(request, reply, { faults: faultsOf(error), status: 400 });
    }
  });
  app.post(`${PATH}/codes`, { config }, (request, reply) =>
    withPassword(request, reply, async () => showCodes(request, reply, await renewCodes(selfOf(request)))),
  );
  app.post(`${PATH}/off`, { config }, (request, reply) =>
    withPassword(request, reply, async () => {
      const self = selfOf(request);
      await parts.store.dropFactor(self.user.id, mailOf(parts, self, 'second_factor_off'));
      return reply.redirect(`/dashboard${ACCOUNT}?done=factor-off`, 303);
    }),
  );
}
