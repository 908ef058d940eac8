import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { sendText } from '../http/problems.ts';
import { type Clock, toIso } from '../lib/clock.ts';

export const healthSchema = z.strictObject({
  success: z.literal(true),
  data: z.strictObject({
    status: z.literal('ok'),
    service: z.string().describe('Host name of the service'),
    time: z.iso.datetime().describe('Server time'),
  }),
});

/** `GET /api/health`: the liveness probe. All but the time is put together once. */
export function addHealth(app: FastifyInstance, { baseUrl, clock }: { baseUrl: string; clock: Clock }): void {
  const service = JSON.stringify(new URL(baseUrl).hostname);
  const head = `{"success":true,"data":{"status":"ok","service":${service},"time":"`;

  // Under load many probes share a millisecond, and formatting it is the dearest part of an answer.
  let lastMs = Number.NaN;
  let body = '';
  const bodyAt = (ms: number) => {
    if (ms !== lastMs) {
      lastMs = ms;
      body = `${head}${toIso(ms)}"}}`;
    }
    return body;
  };

  app.withTypeProvider<ZodTypeProvider>().get(
    '/health',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Liveness probe',
        description: 'Returns status and server time.',
        response: { 200: healthSchema },
      },
    },
    (_request, reply) => {
      sendText(reply, 'application/json', bodyAt(clock.now()));
    },
  );
}
