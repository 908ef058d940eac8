import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Clock } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import type { SentEventType } from '../model/delivery.ts';
import { deliveryHeaders, timestampSeconds, toBodyBytes } from '../model/delivery.ts';
import { createSigner, generateSecret } from '../webhooks/signature.ts';
import { integer, portOf, webhookSecret } from './arguments.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { deliveryJson, deliveryLines, startReceiver } from './receiver.ts';
import { fetchText, NetworkError } from './request.ts';

interface Options {
  port?: number;
  secret?: string;
  status: number;
  delay: number;
  json?: true;
  from?: string;
  webhook?: string;
  forwardTo?: string;
  place?: string;
  fromStart?: true;
}

/** Not PORT, which is the server's: in a shell that starts both, that port would be in use. */
const PORT_VARIABLE = 'LISTEN_PORT';
const USUAL_PORT = 4000;
/** Arguments of a command are visible to every user of the machine (`ps`). */
const SECRET_VARIABLE = 'SIGNALPOST_WEBHOOK_SECRET';
const KEY_VARIABLE = 'SIGNALPOST_API_KEY';
const STDIN = 0;

/** `listen`: a receiver to develop against; it can simulate failures and delays. */
export function addListen(parent: Command, ports: Ports): void {
  parent
    .command('listen')
    .description(
      'receive, verify and print deliveries on 127.0.0.1; with --from, follow the feed of an endpoint, without a public address',
    )
    .option(
      '--port <port>',
      `port to listen on, 0 for any free one (default: ${PORT_VARIABLE}, or ${USUAL_PORT})`,
      integer(0, 65_535),
    )
    .option(
      '--secret <secret>',
      `the endpoint's secret, whsec_…, or - to read it from stdin (default: ${SECRET_VARIABLE}); without it, nothing is verified`,
      secretArgument,
    )
    .option('--status <code>', 'status to respond with', integer(200, 599), 200)
    .option('--delay <ms>', 'delay before each response', integer(0, 600_000), 0)
    .option('--json', 'print each delivery as one line of JSON')
    .option(
      '--from <url>',
      `server whose feed to follow; the API key is read from ${KEY_VARIABLE}`,
      webAddress,
    )
    .option('--webhook <id>', 'with --from: the endpoint whose feed to follow, whk_…')
    .option('--forward-to <url>', 'with --from: post each event there, signed with the secret', webAddress)
    .option('--place <file>', 'with --from: file that keeps the position in the feed between runs')
    .option(
      '--from-start',
      'with --from: start with the oldest event if there is no position yet, not with the next one',
    )
    .action((options: Options) =>
      options.from === undefined ? listen(ports, options) : follow(ports, options, options.from),
    );
}

/** Follows a feed from where the last run stopped. */
async function follow(ports: Ports, options: Options, from: string): Promise<void> {
  const { webhook, forwardTo, json } = options;
  const apiKey = ports.env[KEY_VARIABLE]?.trim() || null;
  if (webhook === undefined)
    throw new CommandError('--from needs --webhook, the id of an endpoint.', EXIT.usage);
  if (apiKey === null)
    throw new CommandError(`Set ${KEY_VARIABLE} to an API key of the account.`, EXIT.config);
  const say = json ? ports.err : ports.out;
  const secret = options.secret ?? secretOf(ports.env) ?? generateSecret(systemRandom);
  const source = {
    ...{
      baseUrl: from.replace(/\/+$/, ''),
      apiKey,
      webhookId: webhook,
      fromStart: options.fromStart === true,
    },
    placeFile: options.place ?? `.signalpost/${webhook}.place`,
  };
  let stopping = false;
  ports.onStop(async () => {
    stopping = true;
  });
  say(`Following the feed of ${webhook} at ${source.baseUrl}; the position is kept in ${source.placeFile}.`);
  if (forwardTo !== undefined) {
    const isGiven = options.secret !== undefined || secretOf(ports.env) !== null;
    say(
      `Forwarding to ${forwardTo}, signed with ${isGiven ? 'the secret given' : secret}. Press Ctrl-C to stop.`,
    );
  }
  await followFeed(ports, source, {
    isStopping: () => stopping,
    async handle(event) {
      const terms = { url: forwardTo ?? '', secret, isStopping: () => stopping, onFault: ports.err };
      const status = forwardTo === undefined ? undefined : await forward(ports.clock, event, terms);
      if (json) ports.out(JSON.stringify({ ...event, ...(status !== undefined && { status }) }));
      else ports.out(`${event.timestamp} ${event.type} ${event.id}${status == null ? '' : ` -> ${status}`}`);
    },
  });
}

function webAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('Must be an http or https URL such as https://signals.example.com.');
}

function secretArgument(text: string): string {
  return webhookSecret(text === '-' ? readFileSync(STDIN, 'utf8') : text);
}

function secretOf(env: NodeJS.ProcessEnv): string | null {
  const text = env[SECRET_VARIABLE]?.trim() || null;
  try {
    return text === null ? null : webhookSecret(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new CommandError(`${SECRET_VARIABLE}: ${error.message}`, EXIT.config);
  }
}

async function listen(ports: Ports, options: Options): Promise<void> {
  const { port, status, delay, json } = options;
  const secret = options.secret ?? secretOf(ports.env);
  const receiver = await startReceiver({
    port: port ?? portOf(ports.env, PORT_VARIABLE) ?? USUAL_PORT,
    clock: ports.clock,
    secret: () => secret,
    status,
    delayMs: delay,
    onDelivery(delivery) {
      for (const line of json ? [deliveryJson(delivery)] : deliveryLines(delivery)) ports.out(line);
    },
  });
  ports.onStop(() => receiver.close());
  const say = json ? ports.err : ports.out;
  say(`Listening at ${receiver.url}, responding with ${status}${delay > 0 ? ` after ${delay} ms` : ''}.`);
  if (secret === null) say('No --secret given: deliveries are printed but not verified.');
  say(
    'The server delivers here if it runs with WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128. Press Ctrl-C to stop.',
  );
}

const FORWARD_TIMEOUT_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 10_000;

/**
 * Posts an event of a feed to a URL, signed like a delivery, and returns the status of the response. Retries until there is one,
 * or until `isStopping`: then null.
 */
export async function forward(
  clock: Clock,
  event: FeedEvent,
  { url, secret, isStopping, onFault }: ForwardTerms,
): Promise<number | null> {
  const { signature: _signature, ...payload } = event.payload;
  const body = toBodyBytes(JSON.stringify(payload));
  for (let attempt = 1; !isStopping(); attempt++) {
    const startedAt = clock.now();
    const sealed = createSigner(secret).seal({ id: event.id, ...body }, timestampSeconds(startedAt));
    const key = { deliveryId: event.id, attempt, startedAt };
    const headers = deliveryHeaders(key, { ...sealed, eventType: event.type as SentEventType });
    try {
      const text = sealed.body.toString('utf8');
      const answer = await fetchText(clock, {
        url,
        method: 'POST',
        headers,
        body: text,
        timeoutMs: FORWARD_TIMEOUT_MS,
      });
      return answer.status;
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      if (attempt === 1) onFault(`${error.message}; waiting for it`);
      const waitMs = Math.min(FIRST_WAIT_MS * attempt, MOST_WAIT_MS);
      await pause(clock, waitMs);
    }
  }
  return null;
}

/** Waits, and keeps the process alive meanwhile, which the timers of a clock do not. */
async function pause(clock: Clock, ms: number): Promise<void> {
  const alive = setInterval(() => undefined, ms);
  await new Promise<void>((resolve) => clock.after(ms, resolve));
  clearInterval(alive);
}

interface ForwardTerms {
  url: string;
  secret: string;
  isStopping(): boolean;
  onFault(text: string): void;
}

/** An event of a feed; `payload` is the JSON that would be posted. */
export interface FeedEvent {
  id: string;
  type: string;
  timestamp: string;
  payload: Record<string, unknown>;
}

interface FeedPage {
  data: FeedEvent[];
  pagination: { next_cursor: string; has_more: boolean };
  truncated: boolean;
}

/** A feed, and the file that stores its position between runs. */
export interface FeedSource {
  baseUrl: string;
  apiKey: string;
  webhookId: string;
  /** A file with the cursor of the last completed page. */
  placeFile: string;
  /** Where to start without a stored position: with the oldest event, or with events from now on. */
  fromStart: boolean;
}

const WAIT_SECONDS = 20;
const POLL_TIMEOUT_MS = 40_000;
const RETRY_MS = 2_000;
/** Errors that do not go away by waiting. */
const FINAL = new Set([400, 401, 403, 404]);

/**
 * Follows a feed until `isStopping`. `handle` completes each event before the next one, and each page before its cursor is stored,
 * so that interrupted events are repeated. @throws CommandError if the server rejects the request
 */
export async function followFeed(
  { clock, err }: Pick<Ports, 'clock' | 'err'>,
  source: FeedSource,
  { handle, isStopping }: { handle(event: FeedEvent): Promise<void>; isStopping(): boolean },
): Promise<void> {
  let cursor = readPlace(source) ?? (source.fromStart ? null : 'now');
  let isFirst = true;
  while (!isStopping()) {
    const askedAt = clock.monotonic();
    const page = await readPage(clock, source, { cursor, wait: isFirst ? 0 : WAIT_SECONDS }).catch(
      (error: unknown) => {
        if (isFirst || !(error instanceof NetworkError)) throw asCommandError(error);
        err(`${error.message}; trying again`);
        return null;
      },
    );
    // A server waits before it returns an empty page. One that does not would be requested thousands of times a minute.
    const isHasty = !isFirst && page?.data.length === 0 && clock.monotonic() - askedAt < RETRY_MS;
    isFirst = false;
    if (page === null || isHasty) await pause(clock, RETRY_MS);
    if (page === null) continue;
    if (page.truncated) err('Events between the last run and 7 days ago are gone.');
    for (const event of page.data) {
      if (isStopping()) return;
      await handle(event);
    }
    cursor = page.pagination.next_cursor;
    keepPlace(source, cursor);
  }
}

async function readPage(
  clock: Ports['clock'],
  { baseUrl, apiKey, webhookId }: FeedSource,
  { cursor, wait }: { cursor: string | null; wait: number },
): Promise<FeedPage> {
  const url = new URL(`${baseUrl}/v1/webhooks/${encodeURIComponent(webhookId)}/feed`);
  url.searchParams.set('wait', String(wait));
  if (cursor !== null) url.searchParams.set('cursor', cursor);
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetchText(clock, { url: url.href, headers, timeoutMs: POLL_TIMEOUT_MS });
  if (answer.status === 200) return pageIn(answer.text, url);
  const said = `The server returned ${answer.status}: ${detailOf(answer.text)}`;
  if (FINAL.has(answer.status)) throw new CommandError(said);
  throw new NetworkError(said);
}

/** The response may come from something else, such as a proxy's login page. @throws NetworkError */
function pageIn(text: string, { origin }: URL): FeedPage {
  try {
    const page = JSON.parse(text);
    if (page.data.every(isEvent) && isHeaderText(page.pagination.next_cursor)) return page;
  } catch {
    // Not a page.
  }
  throw new NetworkError(`${origin}: the response is not a page of a feed`);
}

/** Whether a header or an address can carry it. */
function isHeaderText(value: unknown): boolean {
  return typeof value === 'string' && /^[\x21-\x7e]{1,2000}$/.test(value);
}

function isEvent({ id, type, timestamp, payload }: Record<keyof FeedEvent, unknown>): boolean {
  return [id, type, timestamp].every(isHeaderText) && typeof payload === 'object' && payload !== null;
}

const MAX_SHOWN_CHARS = 500;

function detailOf(text: string): string {
  let said: unknown;
  try {
    said = (JSON.parse(text) as { detail?: unknown } | null)?.detail;
  } catch {
    // Not a problem document.
  }
  return (typeof said === 'string' ? said : text).slice(0, MAX_SHOWN_CHARS);
}

function asCommandError(error: unknown): unknown {
  return error instanceof NetworkError ? new CommandError(error.message, EXIT.network) : error;
}

function readPlace({ placeFile }: FeedSource): string | null {
  try {
    return readFileSync(placeFile, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Written to a temporary file and renamed: an interruption keeps the previous position. */
function keepPlace({ placeFile }: FeedSource, cursor: string): void {
  mkdirSync(dirname(placeFile), { recursive: true });
  writeFileSync(`${placeFile}.new`, `${cursor}\n`);
  renameSync(`${placeFile}.new`, placeFile);
}
