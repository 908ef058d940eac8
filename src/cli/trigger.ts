import { type Command, InvalidArgumentError } from 'commander';
import { EVENT_TYPES, type EventType } from '../model/event.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { fetchText, NetworkError } from './request.ts';

interface Options {
  webhook?: string;
  baseUrl?: string;
}

interface EndpointAnswer {
  id: string;
  mode: 'push' | 'pull';
  label: string;
  url: string | null;
  event_types: EventType[];
}

interface TestResult {
  success: boolean;
  response: { status: number } | null;
  error: { message: string } | null;
}

const TIMEOUT_MS = 40_000;
const KEY_VARIABLE = 'SIGNALPOST_API_KEY';
const URL_VARIABLE = 'SIGNALPOST_URL';

/** `trigger EVENT`: a sample of an event, sent like any delivery. */
export function addTrigger(parent: Command, ports: Ports): void {
  parent
    .command('trigger')
    .argument('<event>', EVENT_TYPES.join(', '), eventArgument)
    .description('send a sample event to one endpoint, or to all that are subscribed to it')
    .option('--webhook <id>', 'the endpoint, whk_… (default: all push endpoints subscribed to the event)')
    .option(
      '--base-url <url>',
      `the server (default: ${URL_VARIABLE}); the API key is read from ${KEY_VARIABLE}`,
    )
    .action((event: EventType, options: Options) => trigger(ports, event, options));
}

function eventArgument(text: string): EventType {
  const known = EVENT_TYPES.find((type) => type === text);
  if (known !== undefined) return known;
  throw new InvalidArgumentError(`Must be one of ${EVENT_TYPES.join(', ')}.`);
}

async function trigger(ports: Ports, event: EventType, { webhook, baseUrl }: Options): Promise<void> {
  const url = (baseUrl ?? ports.env[URL_VARIABLE] ?? '').trim().replace(/\/+$/, '');
  const apiKey = ports.env[KEY_VARIABLE]?.trim() ?? '';
  if (!URL.canParse(url))
    throw new CommandError(`Set the server with --base-url or ${URL_VARIABLE}.`, EXIT.usage);
  if (apiKey === '') throw new CommandError(`Set ${KEY_VARIABLE} to an API key of the account.`, EXIT.config);
  const call = <T>(method: 'GET' | 'POST', path: string, body?: object) =>
    callApi<T>(ports, { url: `${url}${path}`, apiKey, method }, body);
  const endpoints =
    webhook === undefined
      ? (await call<EndpointAnswer[]>('GET', '/v1/webhooks?limit=100')).filter(
          ({ mode, event_types: types }) => mode === 'push' && types.includes(event),
        )
      : [await call<EndpointAnswer>('GET', `/v1/webhooks/${encodeURIComponent(webhook)}`)];
  if (endpoints.length === 0)
    throw new CommandError(
      `No endpoint is subscribed to ${event}. Endpoints with mode "pull" are read and get no samples.`,
    );
  for (const { id, label, url: target } of endpoints) {
    const { success, response, error } = await call<TestResult>('POST', `/v1/webhooks/${id}/test`, { event });
    const outcome = success ? `${response?.status}` : (error?.message ?? 'failed');
    ports.out(`${event} to ${label || target || id}: ${outcome}`);
    if (!success) ports.setExitCode(EXIT.failed);
  }
}

async function callApi<T>(
  { clock }: Ports,
  { url, apiKey, method }: { url: string; apiKey: string; method: 'GET' | 'POST' },
  body?: object,
): Promise<T> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const request = { url, method, headers, timeoutMs: TIMEOUT_MS };
  try {
    const sent = body === undefined ? request : { ...request, body: JSON.stringify(body) };
    const { status, text } = await fetchText(clock, sent);
    const answer = JSON.parse(text) as { data: T; detail?: string };
    if (status === 200) return answer.data;
    throw new CommandError(`The server returned ${status}: ${answer.detail ?? text}`);
  } catch (error) {
    throw error instanceof NetworkError ? new CommandError(error.message, EXIT.network) : error;
  }
}
