import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FeedbackLinks, MailedFeedback } from '../accounts/feedback-links.ts';
import type { Clock } from '../lib/clock.ts';
import { escapeHtml } from '../lib/text.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import type { Signal } from '../model/signal.ts';
import type { Store } from '../store/store.ts';

/** What the links of mails need of the process. */
export interface DigestLinkParts {
  store: Pick<Store, 'getSignal' | 'saveFeedback' | 'as'>;
  clock: Clock;
  feedbackLinks: FeedbackLinks;
}

/**
 * Where the links of a digest lead: GET asks, POST takes it down. The token is the whole authority: it says one thing of
 * one signal, for 30 days. Nothing that the form sends is read.
 */
export async function digestLinks(app: FastifyInstance, parts: DigestLinkParts): Promise<void> {
  const { store, clock } = parts;
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: 1_024 },
    (_request, _body, done) => done(null, null),
  );
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'content-security-policy': CONTENT_POLICY,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    });
  });

  app.get<{ Params: { token: string } }>('/feedback/:token', async (request, reply) => {
    const asked = await readAsked(parts, request.params.token);
    return 'fault' in asked ? sendFault(reply, asked) : sendPage(reply, 200, askingPage(asked.shown));
  });

  app.post<{ Params: { token: string } }>('/feedback/:token', async (request, reply) => {
    const asked = await readAsked(parts, request.params.token);
    if ('fault' in asked) return sendFault(reply, asked);
    const { tenantId, signalId, relevant } = asked.said;
    const at = clock.now();
    const said = { tenantId, signalId, relevant, reason: '', actorId: OTHER_ACTORS.mail, createdAt: at };
    await store.as({ tenantId, actor: OTHER_ACTORS.mail }, () => store.saveFeedback(said));
    return sendPage(reply, 200, thanksPage(asked.shown));
  });
}

interface Fault {
  status: 404 | 410;
  fault: string;
  text: string;
}

async function readAsked(
  { store, clock, feedbackLinks }: DigestLinkParts,
  token: string,
): Promise<Fault | { said: MailedFeedback; shown: AskedSignal }> {
  const said = feedbackLinks.read(token);
  if (said === null) {
    const text = 'It may have been cut off on its way. Open it from the mail, or say it in the dashboard.';
    return { status: 404, fault: 'This link is not whole', text };
  }
  if (said.expiresAt <= clock.now()) {
    const text = 'Links of a mail count for 30 days. The signal is still in the dashboard.';
    return { status: 410, fault: 'This link has expired', text };
  }
  const found = await store.getSignal(said.tenantId, said.signalId);
  const signal: Signal | null = found === null ? null : JSON.parse(found.wire);
  if (signal === null) return { status: 404, fault: 'This signal is gone', text: 'It is not kept any more.' };
  const other = new URL(feedbackLinks.make({ ...said, relevant: !said.relevant })).pathname;
  return { said, shown: { excerpt: signal.excerpt, relevant: said.relevant, otherPath: other } };
}

function sendFault(reply: FastifyReply, { status, fault, text }: Fault): FastifyReply {
  return sendPage(reply, status, faultPage(fault, text));
}

function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(html);
}

const STYLE = `:root{color-scheme:light dark}
body{margin:0;padding:24px 16px;font:1rem/1.5 system-ui,sans-serif}
main{max-width:36rem;margin:0 auto}
blockquote{margin:0 0 1rem;padding:0 0 0 1rem;border-left:4px solid #98a2b3;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;min-height:44px;padding:.6rem 1.2rem;border-radius:6px;border:1px solid #175cd3;background:#175cd3;color:#fff;cursor:pointer}
button.other{background:transparent;color:inherit;border-color:currentColor}
`;

/** What these pages may do: nothing but show and send their form. */
const CONTENT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A signal, and what the link that was followed says of it. */
interface AskedSignal {
  excerpt: string;
  relevant: boolean;
  /** The token that says the opposite. */
  otherPath: string;
}

const WORDS = { yes: 'Relevant', no: 'Not relevant' };

/** Asks whether it is meant: to follow a link changes nothing, as programs that look through mail follow links too. */
function askingPage({ excerpt, relevant, otherPath }: AskedSignal): string {
  const [meant, other] = relevant ? [WORDS.yes, WORDS.no] : [WORDS.no, WORDS.yes];
  return page('Was this signal relevant?', [
    quote(excerpt),
    `<form method="post"><button>${meant}</button></form>`,
    `<p>Or: <a href="${escapeHtml(otherPath)}">${other.toLowerCase()}</a></p>`,
  ]);
}

/** Says that it was taken down, and how to take it back. */
function thanksPage({ excerpt, relevant, otherPath }: AskedSignal): string {
  const [said, other] = relevant ? [WORDS.yes, WORDS.no] : [WORDS.no, WORDS.yes];
  return page('Thank you', [
    `<p role="status">Noted: ${said.toLowerCase()}.</p>`,
    quote(excerpt),
    `<form method="post" action="${escapeHtml(otherPath)}"><button class="other">${other} after all</button></form>`,
  ]);
}

/** Says what is wrong with a link, and the way out. */
function faultPage(title: string, text: string): string {
  return page(title, [`<p>${escapeHtml(text)}</p>`]);
}

function quote(excerpt: string): string {
  return `<blockquote>${escapeHtml(excerpt)}</blockquote>`;
}

function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${parts.join('\n')}
</main>
</body>
</html>
`;
}
