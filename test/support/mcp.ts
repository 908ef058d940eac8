import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import { sendTestToNobody } from './fake-receiver.ts';

/** The revisions of the protocol that clients use. */
export const ERAS = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof ERAS)[number];

/** The official client, connected to an app that does not listen. */
export async function connectMcp(
  app: FastifyInstance,
  auth: { authorization: string },
  era: Era = '2026-07-28',
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    requestInit: { headers: auth },
    fetch: (url, init) => injected(app, url, init),
  });
  await client.connect(transport);
  return client;
}

async function injected(app: FastifyInstance, url: string | URL, init: RequestInit = {}): Promise<Response> {
  const answer = await app.inject({
    method: (init.method ?? 'GET') as 'GET',
    url: new URL(url).pathname,
    headers: { host: 'localhost', ...Object.fromEntries(new Headers(init.headers)) },
    ...(typeof init.body === 'string' && { payload: init.body }),
  });
  const headers = Object.entries(answer.headers).map(
    ([name, value]) => [name, String(value)] as [string, string],
  );
  const empty = [202, 204, 304].includes(answer.statusCode);
  return new Response(empty ? null : new Uint8Array(answer.rawPayload), {
    status: answer.statusCode,
    headers,
  });
}

/** The result of a tool, for tests that know its type. */
export async function callTool<T = Record<string, unknown>>(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<T> {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(JSON.stringify(result.content));
  return result.structuredContent as T;
}

const anything = z.looseObject({});

/** Calls a method that the official client does not support, such as those of events. */
export async function askMcp<T = Record<string, string>>(
  client: Client,
  method: string,
  params: Record<string, unknown> = {},
): Promise<T> {
  return (await client.request({ method, params } as never, anything as never)) as T;
}

/** A simulated receiver that echoes the challenge of a subscription. */
export const echoChallenge: SendTest = async (request) => {
  const sent = await sendTestToNobody(request);
  if (sent.kind === 'sent' && sent.record.response !== null) sent.record.response.body = request.body;
  return sent;
};
