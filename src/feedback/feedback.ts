import type { FastifyInstance, FastifyReply } from 'fastify';
import type { FeedbackLinks, MailedFeedback } from '../accounts/feedback-links.ts';
import type { Clock } from '../lib/clock.ts';
import { OTHER_ACTORS } from '../model/audit.ts';
import type { Signal } from '../model/signal.ts';
import type { Store } from '../store/store.ts';
import { type AskedSignal, askingPage, CONTENT_POLICY, faultPage, thanksPage } from './pages.ts';

/** What the links of mails need of the process. */
export interface FeedbackParts {
  store: Pick<Store, 'getSignal' | 'saveFeedback' | 'as'>;
  clock: Clock;
  feedbackLinks: FeedbackLinks;
}

/**
 * Where the links of a digest lead: GET asks, POST takes it down. The token is the whole authority: it says one thing of
 * one signal, for 30 days. Nothing that the form sends is read.
 */
export async function feedback(app: FastifyInstance, parts: FeedbackParts): Promise<void> {
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
  { store, clock, feedbackLinks }: FeedbackParts,
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
