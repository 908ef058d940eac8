import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problemStatus } from '../http/problems.ts';
import { DomainError } from '../model/errors.ts';
import { type Endpoint, newSecretSchema } from '../model/webhook.ts';
import { replayAll } from '../webhooks/deliveries.ts';
import {
  deleteEndpoint,
  findEndpoint,
  pauseEndpoint,
  refusePull,
  regenerateSecret,
  resumeEndpoint,
} from '../webhooks/endpoints.ts';
import { testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import { ERROR_WORDS } from './delivery-words.ts';
import { momentOf, oneOf } from './filters.ts';
import { formOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { checked } from './members.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { doneReplaying, REPLAYABLE } from './webhook-logs.ts';
import { showWebhook } from './webhook-screen.ts';
import { WEBHOOKS } from './webhooks.ts';

type Act = (request: FastifyRequest, reply: FastifyReply, endpoint: Endpoint) => Promise<FastifyReply>;

/** What is done to an endpoint besides changing its settings. What is refused is said on its screen. */
export function addWebhookActs(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const back = (reply: FastifyReply, { id }: Endpoint, done: string) =>
    reply.redirect(`/dashboard${WEBHOOKS}/${id}?${done}`, 303);

  function add(name: string, act: Act): void {
    const options = { config: { showsSecret: true } } as const;
    app.post<{ Params: { id: string } }>(`${WEBHOOKS}/:id/${name}`, options, async (request, reply) => {
      const endpoint = await findEndpoint(parts.store, memberOf(request).tenant.id, request.params.id);
      try {
        return await act(request, reply, endpoint);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        const seconds = error.extra.retryAfterSeconds;
        if (seconds !== undefined) reply.header('retry-after', String(seconds));
        const shown = { fault: error.message, status: problemStatus(error.code) };
        return showWebhook(parts, show, { request, reply, endpoint, shown });
      }
    });
  }

  add('pause', async (request, reply, endpoint) => {
    await pauseEndpoint(parts, memberOf(request).tenant, endpoint.id);
    return back(reply, endpoint, 'done=paused');
  });
  add('resume', async (request, reply, endpoint) => {
    await resumeEndpoint(parts, memberOf(request).tenant, endpoint.id);
    return back(reply, endpoint, 'done=resumed');
  });
  add('secret', async (request, reply, { id }) => {
    const { grace_hours: graceHours } = checked(newSecretSchema.unwrap().unwrap(), {
      grace_hours: Number(text(formOf(request), 'grace_hours')),
    });
    const { endpoint, secret } = await regenerateSecret(parts, memberOf(request).tenant, { id, graceHours });
    return showWebhook(parts, show, { request, reply, endpoint, shown: { secret } });
  });
  add('test', async (request, reply, endpoint) => {
    const result = testResource(await testEndpoint(parts, endpoint));
    const words = result.error === null ? '' : wordsOf(result.error.code);
    return showWebhook(parts, show, { request, reply, endpoint, shown: { test: { ...result, words } } });
  });
  add('replay', async (request, reply, endpoint) => {
    refusePull(endpoint, 'replayed');
    const form = formOf(request);
    const order = {
      endpointId: endpoint.id,
      status: oneOf(form, 'status', REPLAYABLE) ?? 'dead',
      from: momentOf(form, 'from'),
      to: momentOf(form, 'to'),
    };
    const count = await replayAll(parts, endpoint.tenantId, order);
    return back(reply, endpoint, doneReplaying(count));
  });
  add('delete', async (_request, reply, { id, tenantId }) => {
    await deleteEndpoint(parts, tenantId, id);
    return reply.redirect(`/dashboard${WEBHOOKS}?done=deleted`, 303);
  });
}

function wordsOf(code: string): string {
  return Object.hasOwn(ERROR_WORDS, code) ? ERROR_WORDS[code as keyof typeof ERROR_WORDS] : '';
}
