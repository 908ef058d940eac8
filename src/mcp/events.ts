import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { allows } from '../accounts/keys.ts';
import { HOUR_MS } from '../lib/clock.ts';
import { MCP_EVENT_SCOPES } from '../model/constants.ts';
import { DomainError } from '../model/errors.ts';
import {
  EventRefusal,
  type EventRefusalKind,
  MCP_EVENT_NAMES,
  MCP_EVENTS,
  type McpEventArguments,
  mcpEventArguments,
} from '../model/mcp.ts';
import { pollOccurrences, type SubscriptionDeps, subscribe, unsubscribe } from '../webhooks/subscriptions.ts';
import { type McpCall, slimSchema, type ToolDeps, toProtocolError } from './tool.ts';

/** Dependencies of events, in addition to those of tools. */
export interface EventDeps extends ToolDeps, SubscriptionDeps {
  eventErrors: EventErrors;
}

/** The error codes to use: those of the draft, which ChatGPT expects, or those of the final SEP-3415. */
export type EventErrors = 'draft' | 'sep-3415';

const EVENT_EXTENSION = 'io.modelcontextprotocol/events';
const CODES: Record<EventErrors, Record<Exclude<EventRefusalKind, 'InvalidParams'>, number>> = {
  draft: {
    NotFound: -32_011,
    Forbidden: -32_012,
    ResourceExhausted: -32_013,
    Unsupported: -32_014,
    CallbackEndpointError: -32_015,
  },
  'sep-3415': {
    NotFound: -32_023,
    Forbidden: -32_024,
    ResourceExhausted: -32_025,
    Unsupported: -32_026,
    CallbackEndpointError: -32_027,
  },
};

/** Both forms: ChatGPT reads the first, SEP-3415 defines the second. */
export const EVENT_CAPABILITIES = { events: {}, extensions: { [EVENT_EXTENSION]: {} } };

const MIN_TTL_MS = 60_000;
const MAX_TTL_MS = 7 * 24 * HOUR_MS;
const MAX_EVENTS = 50;
const SECRET_BYTES = { min: 24, max: 64 };

const secretSchema = z
  .string()
  .max(100)
  .refine(isSecret, 'must be "whsec_" and the base64 of 24 to 64 bytes');
const argumentsSchema = z.record(z.string(), z.unknown()).nullish();
const subscribeParams = z.looseObject({
  name: z.string(),
  arguments: argumentsSchema,
  delivery: z.looseObject({ mode: z.string(), url: z.string().max(2_048), secret: secretSchema }),
  ttlMs: z.number().nullish(),
});
const unsubscribeParams = z.union([
  z.looseObject({
    name: z.string(),
    arguments: argumentsSchema,
    delivery: z.looseObject({ url: z.string().max(2_048) }),
  }),
  z.looseObject({ id: z.string().max(64) }),
]);
const pollParams = z.looseObject({
  name: z.string(),
  arguments: argumentsSchema,
  cursor: z.string().max(2_000).nullish(),
  maxEvents: z.int().min(1).optional(),
});
const listParams = z.looseObject({}).optional();
const anyResult = z.looseObject({});

/** Adds the methods of the events extension (SEP-3415), which the SDK does not support. */
export function addEvents(
  server: Server,
  call: McpCall,
  deps: EventDeps & { report(error: unknown): void },
): void {
  const handle = <P extends z.ZodType>(
    method: string,
    params: P,
    run: (params: z.output<P>) => Promise<Record<string, unknown>>,
  ) => {
    // Validated here and not by the SDK, so that an error names its field.
    server.setRequestHandler(method, { params: z.unknown(), result: anyResult }, async (given) => {
      try {
        return await run(params.parse(given));
      } catch (error) {
        throw toProtocolError(refusalOf(error, deps.eventErrors), deps.report);
      }
    });
  };
  handle('events/list', listParams, async () => ({ events: listEvents(call) }));
  handle('events/subscribe', subscribeParams, async ({ name, delivery, ttlMs, arguments: args }) => {
    const { mode, url, secret } = delivery;
    if (mode !== 'webhook') {
      const detail = `Delivery mode "${mode.slice(0, 50)}" is not served; use "webhook", or events/poll.`;
      throw new EventRefusal('Unsupported', detail, { feature: 'deliveryMode' });
    }
    const event = findEvent(call, name, args);
    const request = { ...event, url, secret, ttlMs: grantedTtl(ttlMs) };
    const { id, refreshBefore, wasActive } = await subscribe(deps, call.caller, request);
    const status = wasActive === null ? {} : { deliveryStatus: { active: wasActive } };
    return { id, refreshBefore, cursor: null, truncated: false, ...status };
  });
  handle('events/unsubscribe', unsubscribeParams, async (params) => {
    const of =
      'delivery' in params
        ? {
            ...knownEvent(params.name as string, params.arguments),
            url: (params.delivery as { url: string }).url,
          }
        : { id: String(params.id) };
    await unsubscribe(deps, call.caller, of);
    return {};
  });
  handle('events/poll', pollParams, async ({ name, arguments: args, cursor = null, maxEvents }) => {
    const event = findEvent(call, name, args);
    const limit = Math.min(maxEvents ?? MAX_EVENTS, MAX_EVENTS);
    return { ...(await pollOccurrences(deps, call.tenantId, { ...event, cursor, limit })) };
  });
}

/** The events that the key may subscribe to. */
function listEvents({ caller }: McpCall) {
  return MCP_EVENT_NAMES.filter((name) => allows(caller.key.scopes, MCP_EVENT_SCOPES[name])).map((name) => {
    const { description, data } = MCP_EVENTS[name];
    return {
      ...{ name, description, delivery: ['webhook', 'poll'] },
      inputSchema: slimSchema(mcpEventArguments, 'input'),
      payloadSchema: slimSchema(data, 'output'),
    };
  });
}

/**
 * @throws EventRefusal if there is no such event, or none for this key; the caller cannot tell the two apart
 */
function findEvent({ caller }: McpCall, name: string, args: unknown) {
  const event = knownEvent(name, args);
  if (allows(caller.key.scopes, MCP_EVENT_SCOPES[event.name])) return event;
  throw noEvent(name);
}

function knownEvent(name: string, args: unknown) {
  const known = MCP_EVENT_NAMES.find((each) => each === name);
  if (known === undefined) throw noEvent(name);
  return { name: known, arguments: parseArguments(args) };
}

function noEvent(name: string): EventRefusal {
  return new EventRefusal('NotFound', `There is no event "${name.slice(0, 100)}".`, { kind: 'event' });
}

function parseArguments(args: unknown): McpEventArguments {
  const parsed = mcpEventArguments.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const detail = `The arguments do not match the inputSchema of the event: ${issue?.path.join('.')} ${issue?.message}`;
  throw new EventRefusal('InvalidParams', detail, { field: 'arguments' });
}

/** An hour by default; requests without an end get the maximum. */
function grantedTtl(ttlMs: number | null | undefined): number {
  if (ttlMs === undefined) return HOUR_MS;
  if (ttlMs === null) return MAX_TTL_MS;
  return Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, Math.floor(ttlMs)));
}

function isSecret(text: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? '';
  const { length } = Buffer.from(encoded, 'base64');
  return length >= SECRET_BYTES.min && length <= SECRET_BYTES.max;
}

function refusalOf(error: unknown, errors: EventErrors): unknown {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    const field = issue?.path.join('.') ?? '';
    return new ProtocolError(ProtocolErrorCode.InvalidParams, `${field}: ${issue?.message}`, { field });
  }
  if (error instanceof DomainError) {
    return new ProtocolError(ProtocolErrorCode.InternalError, `${error.code}: ${error.message}`);
  }
  if (!(error instanceof EventRefusal)) return error;
  const { kind, message, data } = error;
  const code = kind === 'InvalidParams' ? ProtocolErrorCode.InvalidParams : CODES[errors][kind];
  return new ProtocolError(code, message, data);
}
