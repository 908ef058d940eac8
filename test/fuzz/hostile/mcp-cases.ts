import { type HostileCase, outcomeOf } from './case.ts';
import { JSON_SHAPES, SHAPES, type Shape, shapesOfHead } from './texts.ts';
import type { Reply, World } from './world.ts';

const BODY_BYTES = 1_000_000;
const HEAD_CHARS = 10_000;

/** Arguments that accept text, of maximum length and longer, by tool or method. */
const TOOLS: readonly [tool: string, member: string, chars: number, rest?: object][] = [
  ['search_signals', 'q', 200],
  ['search_signals', 'since', 60],
  ['search_signals', 'cursor', 2_000],
  ['list_leads', 'q', 200],
  ['list_leads', 'company_domain', 253],
  ['get_company', 'company', 2_000],
  ['get_signal', 'signal_id', 64],
  ['rate_signal', 'reason', 1_000, { signal_id: 'sig_1', relevant: true }],
  ['update_lead', 'lead_id', 64, { stage: 'won' }],
  ['list_deliveries', 'webhook_id', 64],
];

const METHODS: readonly [method: string, of: (text: string) => object][] = [
  ['events/poll', (text) => ({ name: text })],
  ['events/poll', (text) => ({ name: 'signal.detected', cursor: text })],
  ['events/poll', (text) => ({ name: 'signal.detected', arguments: { icp_profile_id: text } })],
  ['events/subscribe', (text) => subscription({ url: text })],
  ['events/subscribe', (text) => subscription({ url: `https://127.0.0.1:8443/${text}` })],
  ['events/subscribe', (text) => subscription({ secret: `whsec_${text}` })],
  ['events/unsubscribe', (text) => ({ id: text })],
  ['resources/read', (text) => ({ uri: `signalpost://signal/${text}` })],
  ['prompts/get', (text) => ({ name: 'draft_reply', arguments: { signal_id: text } })],
  ['tools/call', (text) => ({ name: text })],
  ['tools/call', (text) => ({ name: 'get_signal', arguments: { [text]: text } })],
];

function subscription(delivery: object): object {
  const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;
  return {
    name: 'signal.detected',
    delivery: { mode: 'webhook', url: 'https://127.0.0.1:8443/a', secret, ...delivery },
  };
}

/** `/mcp`: the input of tools and methods, the JSON around it, and the protocol's headers. */
export function mcpCases(): HostileCase[] {
  return [
    ...TOOLS.flatMap(([name, member, chars, rest]) =>
      SHAPES.flatMap((shape) => [
        ofText(`${name}, ${member} of ${shape.name}`, shape, chars, (text) => ({
          method: 'tools/call',
          params: { name, arguments: { ...rest, [member]: text } },
        })),
      ]),
    ),
    ...METHODS.flatMap(([method, of], n) =>
      SHAPES.flatMap((shape) =>
        [60, BODY_BYTES / 4].map((chars) =>
          ofText(
            `${method} ${n}, a text of ${shape.name}${chars === 60 ? '' : ', very long'}`,
            shape,
            chars,
            (text) => ({ method, params: of(text) }),
          ),
        ),
      ),
    ),
    ...JSON_SHAPES.flatMap(({ name, of }) =>
      [
        '@',
        '[@]',
        message('@'),
        message('{"name":"search_signals","arguments":@}'),
        message('{"name":"search_signals","arguments":{"q":@}}'),
        message('{"name":"signal.detected","arguments":@}', 'events/poll'),
      ].map((around, n) =>
        ofBody(`a body of ${name}, ${n} deep`, () => around.replace('@', () => of(BODY_BYTES - 200))),
      ),
    ),
    ofBody('a batch of ten thousand calls', () =>
      `[${`${message('{"name":"search_signals","arguments":{}}')},`.repeat(10_000).slice(0, -1)}]`.slice(
        0,
        BODY_BYTES,
      ),
    ),
    ...['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'accept'].flatMap((header) =>
      shapesOfHead(true).map((shape) => ({
        name: `mcp: header ${header} of ${shape.name}`,
        size: HEAD_CHARS,
        run: async ({ call }: World) =>
          outcome(await call('POST', '/mcp', message('{}'), { [header]: shape.of(HEAD_CHARS).trim() })),
      })),
    ),
  ];
}

const message = (params: string, method = 'tools/call') =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;

function ofText(what: string, shape: Shape, chars: number, of: (text: string) => object): HostileCase {
  return ofBody(what, () =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, ...of(shape.of(chars).slice(0, chars)) }),
  );
}

function ofBody(what: string, body: () => string): HostileCase {
  return {
    name: `mcp: ${what}`,
    size: BODY_BYTES,
    run: async ({ call }) =>
      outcome(await call('POST', '/mcp', body(), { accept: 'application/json, text/event-stream' })),
  };
}

/** Here a server error is a response with status 200. */
function outcome(reply: Reply): string {
  return reply.body.includes('-32603') ? `broken: ${reply.body.slice(0, 300)}` : outcomeOf(reply);
}
