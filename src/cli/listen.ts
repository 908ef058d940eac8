import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { systemRandom } from '../lib/random.ts';
import { generateSecret } from '../webhooks/signature.ts';
import { integer, portOf, webhookSecret } from './arguments.ts';
import { deliveryJson, deliveryLines } from './delivery-lines.ts';
import { followFeed } from './feed.ts';
import { forward } from './forward.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { startReceiver } from './receiver.ts';

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

/** Not PORT, which is the server's: in a shell that starts both it would be in use. */
const PORT_VARIABLE = 'LISTEN_PORT';
const USUAL_PORT = 4000;
/** What stands in a command can be read by every user of the machine (`ps`). */
const SECRET_VARIABLE = 'SIGNALPOST_WEBHOOK_SECRET';
const KEY_VARIABLE = 'SIGNALPOST_API_KEY';
const STDIN = 0;

/** `listen`: a receiver to develop against; it can be told to fail or to stall. */
export function addListen(parent: Command, ports: Ports): void {
  parent
    .command('listen')
    .description(
      'receive, verify and print deliveries on 127.0.0.1; with --from follow the feed of an endpoint instead, which needs no address that the server can reach',
    )
    .option(
      '--port <port>',
      `port to listen on; 0: any free one (default: ${PORT_VARIABLE}, or ${USUAL_PORT})`,
      integer(0, 65_535),
    )
    .option(
      '--secret <secret>',
      `the endpoint's secret, whsec_…, or - to read it from stdin (default: ${SECRET_VARIABLE}); without it nothing is verified`,
      secretArgument,
    )
    .option('--status <code>', 'status to answer with', integer(200, 599), 200)
    .option('--delay <ms>', 'wait that long before each answer', integer(0, 600_000), 0)
    .option('--json', 'one JSON object a line for each delivery')
    .option('--from <url>', `a server whose feed to follow; its key is read from ${KEY_VARIABLE}`, webAddress)
    .option('--webhook <id>', 'the endpoint whose feed it is, whk_…')
    .option('--forward-to <url>', 'with --from: post each event there, signed with the secret', webAddress)
    .option('--place <file>', 'with --from: where the place in the feed is kept between runs')
    .option('--from-start', 'with --from: without a place, begin with the oldest event and not with the next')
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
  say(`Following the feed of ${webhook} at ${source.baseUrl}; the place is kept in ${source.placeFile}.`);
  if (forwardTo !== undefined) {
    const isGiven = options.secret !== undefined || secretOf(ports.env) !== null;
    say(`Forwarding to ${forwardTo}, signed with ${isGiven ? 'the secret given' : secret}. Ctrl-C ends.`);
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
  throw new InvalidArgumentError('It must be an http or https address, like https://signals.example.com.');
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
  say(`Listening at ${receiver.url}, answering ${status}${delay > 0 ? ` after ${delay} ms` : ''}.`);
  if (secret === null) say('No --secret was given: deliveries are printed, nothing is verified.');
  say('The server delivers here if it runs with WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128. Ctrl-C ends.');
}
