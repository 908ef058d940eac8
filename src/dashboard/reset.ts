import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MailLimits } from '../accounts/mail.ts';
import { mailResetLinks } from '../accounts/own-account.ts';
import { createWrongPasswords, RESET_TRIES } from '../accounts/passwords.ts';
import { tooMany } from '../accounts/sign-in.ts';
import { clientOf } from '../http/limits.ts';
import { afterAnswer } from './afterwards.ts';
import { formOf, text } from './forms.ts';
import type { DashboardParts } from './parts.ts';

/**
 * Has a link for a new password sent to an address. The answer is the same whether the address is known or not, and so is
 * how long it takes: the mail is written once the answer is on its way.
 */
export function createResetAsker(parts: DashboardParts & { mailLimits: MailLimits }) {
  const tries = createWrongPasswords(parts.clock, RESET_TRIES);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const email = text(formOf(request), 'email');
    const wait = tries.take(email, clientOf(request));
    if (wait !== null) throw tooMany(wait.ms);
    const mailWaitMs = await parts.mailLimits.reset(email);
    if (mailWaitMs !== null) throw tooMany(mailWaitMs);
    const afterwards = afterAnswer(parts, { request, reply, fault: 'a reset mail could not be written' });
    afterwards(() => mailResetLinks(parts, email));
    return reply.redirect('/dashboard/reset?done=asked', 303);
  };
}
