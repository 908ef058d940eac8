import { createTransport } from 'nodemailer';
import { toHttpDate } from '../lib/clock.ts';
import type { SendMail } from './mail.ts';

/** A mail server that does not answer must not hold up the others for minutes (nodemailer's own limits are 2 to 10). */
const TIMEOUT_MS = 10_000;
/** For a whole mail, so that a server that drips cannot hold up the process's stop. */
const WHOLE_MS = 20_000;

/** Sends over SMTP; `smtpUrl` is `smtp://user:password@host:port` or `smtps://…`. TLS wherever the server offers it. */
export function createSmtpSender(smtpUrl: string, from: string): SendMail {
  const domain = /@([^\s>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    dnsTimeout: TIMEOUT_MS,
    // Said, as the default is what NODE_TLS_REJECT_UNAUTHORIZED says.
    tls: { rejectUnauthorized: true },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ messageId, writtenAt, unsubscribeUrl, ...mail }) => {
    await transport.sendMail({
      from,
      messageId: `<${messageId}@${domain}>`,
      ...mail,
      ...(unsubscribeUrl !== undefined && { headers: unsubscribeHeaders(unsubscribeUrl) }),
      // As RFC 5322, section 3.3 wants it: nodemailer sends a text just as it is given.
      date: toHttpDate(writtenAt).replace('GMT', '+0000'),
      signal: AbortSignal.timeout(WHOLE_MS),
    });
  };
}

/** One click in the mail program ends it, without a page (RFC 8058). An address has no blank at which a line could be folded. */
function unsubscribeHeaders(url: string) {
  const prepared = true;
  return {
    'List-Unsubscribe': { prepared, value: `<${url}>` },
    'List-Unsubscribe-Post': { prepared, value: 'List-Unsubscribe=One-Click' },
  };
}
