import type { FastifyReply, FastifyRequest } from 'fastify';
import { SESSION_LIFE, type SessionLife } from '../accounts/sign-in.ts';
import { isHttps } from '../http/request-context.ts';

/** A browser keeps a `__Host-` cookie only where it came by https and for this very host. */
export function cookieNames(secure: boolean): { session: string; csrf: string } {
  return secure
    ? { session: '__Host-signalpost', csrf: '__Host-signalpost-form' }
    : { session: 'signalpost', csrf: 'signalpost-form' };
}

/** `Lax`: a link in a mail leads to a signed-in page, and no other site's form is sent with it. */
export function cookieOptions(secure: boolean) {
  return { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const;
}

/** The session's cookie. */
export function sessionCookie({
  baseUrl,
  sessionLife = SESSION_LIFE,
}: {
  baseUrl: string;
  sessionLife?: SessionLife;
}) {
  const secure = isHttps(baseUrl);
  const { session: name } = cookieNames(secure);
  return {
    read: (request: FastifyRequest): string | null => request.cookies[name] ?? null,
    set: (reply: FastifyReply, token: string): void =>
      void reply.setCookie(name, token, {
        ...cookieOptions(secure),
        maxAge: sessionLife.longestDays * 24 * 3_600,
      }),
    clear: (reply: FastifyReply): void => void reply.clearCookie(name, cookieOptions(secure)),
  };
}
