import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { integer, portOf, webhookSecret } from './arguments.ts';
import { deliveryJson, deliveryLines } from './delivery-lines.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { startReceiver } from './receiver.ts';

interface Options {
  port?: number;
  secret?: string;
  status: number;
  delay: number;
  json?: true;
}

/** Not PORT, which is the server's: in a shell that starts both it would be in use. */
const PORT_VARIABLE = 'LISTEN_PORT';
const USUAL_PORT = 4000;
/** What stands in a command can be read by every user of the machine (`ps`). */
const SECRET_VARIABLE = 'SIGNALPOST_WEBHOOK_SECRET';
const STDIN = 0;

/** `listen`: a receiver to develop against; it can be told to fail or to stall. */
export function addListen(parent: Command, ports: Ports): void {
  parent
    .command('listen')
    .description('receive, verify and print deliveries on 127.0.0.1')
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
    .action((options: Options) => listen(ports, options));
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
