import type { Command } from 'commander';
import { integer, portOf, webhookSecret } from './arguments.ts';
import { deliveryJson, deliveryLines } from './delivery-lines.ts';
import type { Ports } from './ports.ts';
import { startReceiver } from './receiver.ts';

interface Options {
  port?: number;
  secret?: string;
  status: number;
  delay: number;
  json?: true;
}

const USUAL_PORT = 4000;

/** `listen`: a receiver to develop against; it can be told to fail or to stall. */
export function addListen(parent: Command, ports: Ports): void {
  parent
    .command('listen')
    .description('receive, verify and print deliveries on 127.0.0.1')
    .option(
      '--port <port>',
      'port to listen on; 0: any free one (default: PORT, or 4000)',
      integer(0, 65_535),
    )
    .option(
      '--secret <secret>',
      "the endpoint's secret, whsec_…; without it nothing is verified",
      webhookSecret,
    )
    .option('--status <code>', 'status to answer with', integer(200, 599), 200)
    .option('--delay <ms>', 'wait that long before each answer', integer(0, 600_000), 0)
    .option('--json', 'one JSON object a line for each delivery')
    .action((options: Options) => listen(ports, options));
}

async function listen(ports: Ports, { port, secret, status, delay, json }: Options): Promise<void> {
  const receiver = await startReceiver({
    port: port ?? portOf(ports.env) ?? USUAL_PORT,
    clock: ports.clock,
    secret: () => secret ?? null,
    status,
    delayMs: delay,
    onDelivery(delivery) {
      for (const line of json ? [deliveryJson(delivery)] : deliveryLines(delivery)) ports.out(line);
    },
  });
  ports.onStop(() => receiver.close());
  const say = json ? ports.err : ports.out;
  say(`Listening at ${receiver.url}, answering ${status}${delay > 0 ? ` after ${delay} ms` : ''}.`);
  if (secret === undefined) say('No --secret was given: deliveries are printed, nothing is verified.');
  say('The server delivers here if it runs with WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128. Ctrl-C ends.');
}
