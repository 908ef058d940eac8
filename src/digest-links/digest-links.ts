import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FeedbackLinks, LinkAct, MailedAct } from '../accounts/links.ts';
import { clientOf, createLimiter, refuseOver } from '../http/limits.ts';
import { addShedding, type LoadGate } from '../http/load.ts';
import { problemStatus } from '../http/problems.ts';
import type { HandleInTurns } from '../http/turns.ts';
import { addLead } from '../leads/add-lead.ts';
import type { LeadDeps } from '../leads/changes.ts';
import { escapeHtml } from '../lib/text.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import { DomainError } from '../model/errors.ts';
import { leadInputSchema } from '../model/lead.ts';
import type { Signal } from '../model/signal.ts';
import { headlineOf } from '../signals/why.ts';
import type { Store } from '../store/store.ts';

/** Dependencies of the routes for links in emails and messages. */
export interface DigestLinkDeps extends LeadDeps {
  store: Store;
  feedbackLinks: FeedbackLinks;
  /** Rejects requests while the server is overloaded. */
  load: LoadGate;
  handleInTurns: HandleInTurns;
  /** Requests per minute of a client address: as many as in the dashboard. */
  dashboardLimits: { client: number };
}

/**
 * Routes for the links in digests and messages: GET asks for confirmation, POST makes the change. The token alone authorizes it:
 * one action on one signal, for 30 days, or unsubscribing one person from the digest. Form data is ignored.
 */
export async function digestLinks(app: FastifyInstance, deps: DigestLinkDeps): Promise<void> {
  const { store, feedbackLinks } = deps;
  app.addContentTypeParser(
    ['application/x-www-form-urlencoded', 'multipart/form-data'],
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
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof DomainError)) throw error;
    const { hint = '', retryAfterSeconds } = error.extra;
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
    const text = `${error.message} ${hint}`;
    return sendPage(reply, problemStatus(error.code), faultPage('Please try again later', text));
  });
  const clients = createLimiter(app, deps.clock, {
    keyOf: clientOf,
    limitOf: deps.dashboardLimits.client,
  });
  app.addHook('onRequest', async (request) =>
    refuseOver(await clients.take(request), 'The limit of your network address'),
  );
  addShedding(app, { load: deps.load, ownerOf: () => '' });
  deps.handleInTurns(app);

  app.get<{ Params: { token: string } }>('/feedback/:token', async (request, reply) => {
    const asked = await readAsked(deps, request.params.token);
    return 'fault' in asked ? sendFault(reply, asked) : sendPage(reply, 200, askingPage(asked.shown));
  });

  app.post<{ Params: { token: string } }>('/feedback/:token', async (request, reply) => {
    const asked = await readAsked(deps, request.params.token);
    if ('fault' in asked) return sendFault(reply, asked);
    const refused = await doAct(deps, asked.said);
    if (refused !== null) return sendPage(reply, 409, faultPage('Not added', refused));
    return sendPage(reply, 200, thanksPage(asked.shown));
  });

  const readLeaver = async (token: string) => {
    const who = feedbackLinks.readUnsubscribe(token);
    return who === null ? null : store.getMember(who.tenantId, who.userId);
  };
  const gone = {
    status: 404,
    fault: 'This link does not work',
    text: 'It may be incomplete, or this person is no longer a member. They no longer receive digests.',
  } as const;
  app.get<{ Params: { token: string } }>('/digest/unsubscribe/:token', async (request, reply) => {
    const member = await readLeaver(request.params.token);
    return member === null ? sendFault(reply, gone) : sendPage(reply, 200, leavingPage(member.email));
  });
  // Mail programs send this request by themselves (RFC 8058): no confirmation, no redirect.
  app.post<{ Params: { token: string } }>('/digest/unsubscribe/:token', async (request, reply) => {
    const member = await readLeaver(request.params.token);
    if (member === null) return sendFault(reply, gone);
    const { tenantId, id } = member;
    await store.as({ tenantId, actor: OTHER_ACTORS.mail }, () => store.setDigestReader(tenantId, id, false));
    return sendPage(reply, 200, leftPage(member.email));
  });
}

interface LinkFault {
  status: 404 | 410;
  fault: string;
  text: string;
}

async function readAsked(
  { store, clock, feedbackLinks }: DigestLinkDeps,
  token: string,
): Promise<LinkFault | { said: MailedAct; shown: AskedSignal }> {
  const said = feedbackLinks.read(token);
  if (said === null) {
    const text = 'Part of it may be missing. Open it from the message again, or use the dashboard.';
    return { status: 404, fault: 'This link is incomplete', text };
  }
  if (said.expiresAt <= clock.now()) {
    const text = 'Links work for 30 days. The signal is still in the dashboard.';
    return { status: 410, fault: 'This link has expired', text };
  }
  const found = await store.getSignal(said.tenantId, said.signalId);
  const signal: Signal | null = found === null ? null : JSON.parse(found.wire);
  if (found === null || signal === null)
    return { status: 404, fault: 'This signal no longer exists', text: 'It may have been deleted.' };
  const { act } = said;
  const other = act === 'relevant' ? 'not_relevant' : 'relevant';
  const shown = {
    headline: headlineOf(found.text),
    excerpt: signal.excerpt,
    url: signal.profile_url,
    act,
    otherPath: new URL(feedbackLinks.make({ ...said, act: other })).pathname,
  };
  return { said, shown };
}

/** Performs the action of a link. Returns the reason if it was refused, otherwise null. */
async function doAct(deps: DigestLinkDeps, { tenantId, signalId, act }: MailedAct): Promise<string | null> {
  const { store, clock } = deps;
  const actor = OTHER_ACTORS.mail;
  return store.as({ tenantId, actor }, async () => {
    if (act !== 'add') {
      const relevant = act === 'relevant';
      await store.saveFeedback({
        tenantId,
        signalId,
        relevant,
        reason: '',
        actorId: actor,
        createdAt: clock.now(),
      });
      return null;
    }
    try {
      const caller = { tenantId, actor: { id: actor, name: 'Link in a message' } };
      await addLead(deps, caller, leadInputSchema.parse({ signal_ids: [signalId] }));
      return null;
    } catch (error) {
      if (error instanceof DomainError) return error.message;
      throw error;
    }
  });
}

function sendFault(reply: FastifyReply, { status, fault, text }: LinkFault): FastifyReply {
  return sendPage(reply, status, faultPage(fault, text));
}

function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(html);
}

const STYLE = `:root{color-scheme:light dark}
body{margin:0;padding:24px 16px;font:1rem/1.5 system-ui,sans-serif}
main{max-width:36rem;margin:0 auto}
h2{font-size:1.1rem;margin:0 0 .5rem;overflow-wrap:anywhere}
blockquote{margin:0 0 1rem;padding:0 0 0 1rem;border-left:4px solid #98a2b3;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;min-height:44px;padding:.6rem 1.2rem;border-radius:6px;border:1px solid #175cd3;background:#175cd3;color:#fff;cursor:pointer}
button.other{background:transparent;color:inherit;border-color:currentColor}
`;

/** Allows these pages only their own style and form. */
const CONTENT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A signal, and the action of the link that was opened. */
interface AskedSignal {
  headline: string;
  excerpt: string;
  /** URL of the signal in the dashboard. */
  url: string;
  act: LinkAct;
  /** Path of the link with the opposite rating. */
  otherPath: string;
}

const WORDS: Readonly<Record<LinkAct, { button: string; done: string }>> = {
  relevant: { button: 'Relevant', done: 'Marked as relevant.' },
  not_relevant: { button: 'Not relevant', done: 'Marked as not relevant.' },
  add: { button: 'Add to pipeline', done: 'Added to the pipeline.' },
};

/** Asks for confirmation: opening a link must not change anything, because mail scanners open links too. */
function askingPage(asked: AskedSignal): string {
  const { act, otherPath } = asked;
  const other = act === 'relevant' ? WORDS.not_relevant : WORDS.relevant;
  return page(act === 'add' ? 'Add this signal to the pipeline?' : 'Was this signal relevant?', [
    quote(asked),
    `<form method="post"><button>${WORDS[act].button}</button></form>`,
    act === 'add' ? '' : `<p>Or: <a href="${escapeHtml(otherPath)}">${other.button.toLowerCase()}</a></p>`,
  ]);
}

/** Confirms the change, and offers to reverse it. */
function thanksPage(asked: AskedSignal): string {
  const { act, otherPath, url } = asked;
  const other = act === 'relevant' ? WORDS.not_relevant : WORDS.relevant;
  return page('Thank you', [
    `<p role="status">${WORDS[act].done}</p>`,
    quote(asked),
    act === 'add'
      ? `<p><a href="${escapeHtml(url)}">Open the signal</a></p>`
      : `<form method="post" action="${escapeHtml(otherPath)}"><button class="other">Change to ${other.button.toLowerCase()}</button></form>`,
  ]);
}

function leavingPage(email: string): string {
  return page('Unsubscribe from the digest?', [
    `<p>${escapeHtml(email)} will no longer receive the digest. You can turn it back on in the dashboard.</p>`,
    '<form method="post"><button>Unsubscribe</button></form>',
  ]);
}

function leftPage(email: string): string {
  return page('You are unsubscribed', [
    `<p role="status">${escapeHtml(email)} no longer receives the digest. You can turn it back on in the dashboard.</p>`,
  ]);
}

/** Explains why a link does not work, and what to do instead. */
function faultPage(title: string, text: string): string {
  return page(title, [`<p>${escapeHtml(text)}</p>`]);
}

function quote({ headline, excerpt }: AskedSignal): string {
  return `<h2>${escapeHtml(headline)}</h2>\n<blockquote>${escapeHtml(excerpt)}</blockquote>`;
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
