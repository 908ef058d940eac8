import type { Command } from 'commander';
import { linesOf } from '../lib/text.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { serverAddress } from './public-commands.ts';
import { fetchText, NetworkError } from './request.ts';

const TIMEOUT_MS = 30_000;
/** The server accepts bodies of a mebibyte. */
const MAX_LINE_CHARACTERS = 1024 * 1024;
/** Lines of up to this length are parsed for the ID of their message, which clients put last; parts of longer ones are dropped. */
const MAX_READ_CHARACTERS = 4 * MAX_LINE_CHARACTERS;
const TOO_LONG = `A message of more than ${MAX_LINE_CHARACTERS} characters was not sent.`;
/** Further messages wait in stdin. */
const MOST_AT_ONCE = 64;
const MAX_REFUSAL_CHARACTERS = 1_000;
const INTERNAL_ERROR = -32_603;
const INVALID_REQUEST = -32_600;
const VERSION_META = 'io.modelcontextprotocol/protocolVersion';

/** The members of a client's JSON-RPC message that determine its headers. */
interface RpcMessage {
  id?: string | number;
  method?: string;
  params?: { name?: string; uri?: string; _meta?: Record<string, unknown> };
}

/** `mcp`: the server's MCP interface for clients that start a program; every message is a request to `/mcp`. */
export function addMcp(parent: Command, ports: Ports): void {
  parent
    .command('mcp')
    .description('serve MCP over stdin and stdout, from the server at SIGNALPOST_URL with SIGNALPOST_API_KEY')
    .option('--base-url <url>', 'address of the server (or SIGNALPOST_URL; else http://localhost:PORT)')
    .action(({ baseUrl }: { baseUrl?: string }) => relay(ports, baseUrl));
}

async function relay(ports: Ports, baseUrl: string | undefined): Promise<void> {
  const key = ports.env.SIGNALPOST_API_KEY?.trim();
  if (!key) throw new CommandError('SIGNALPOST_API_KEY: must be set to an API key, sp_live_…', EXIT.config);
  const url = `${serverAddress(ports.env, baseUrl)}/mcp`;
  const underWay = new Set<Promise<void>>();
  for await (const line of linesOf(process.stdin.setEncoding('utf8'), MAX_READ_CHARACTERS)) {
    if (line.trim() === '') continue;
    if (line.length > MAX_LINE_CHARACTERS) {
      ports.err(TOO_LONG);
      const { id = null } = parseMessage(line);
      ports.out(failure(id, TOO_LONG, INVALID_REQUEST));
      continue;
    }
    if (underWay.size >= MOST_AT_ONCE) await Promise.race(underWay);
    const work = answerLine(ports, { url, key, line }).finally(() => underWay.delete(work));
    underWay.add(work);
  }
  await Promise.all(underWay);
}

async function answerLine(
  ports: Ports,
  { url, key, line }: { url: string; key: string; line: string },
): Promise<void> {
  const message = parseMessage(line);
  try {
    const headers = { ...headersOf(message), authorization: `Bearer ${key}` };
    const call = { url, method: 'POST' as const, headers, body: line, timeoutMs: TIMEOUT_MS };
    const answer = await fetchText(ports.clock, call);
    const text = messageIn(answer.text);
    if (text !== null) ports.out(text);
    else if (message.id !== undefined) ports.out(failure(message.id, refusalIn(answer)));
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    ports.err(error.message);
    if (message.id !== undefined) ports.out(failure(message.id, error.message));
  }
}

function parseMessage(line: string): RpcMessage {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** The headers in which the HTTP binding repeats parts of a message (revision 2026-07-28, SEP-2243). */
function headersOf({ method, params }: RpcMessage): Record<string, string> {
  const version = params?._meta?.[VERSION_META];
  const name = params?.name ?? params?.uri;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(typeof version === 'string' && {
      'mcp-protocol-version': version,
      ...(method !== undefined && { 'mcp-method': method }),
      ...(typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
    }),
  };
}

/** Encodes a value that a header cannot carry as marked base64 (SEP-2243). */
function encodeHeader(value: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** The JSON-RPC message of a response, as one line; null if there is none. */
function messageIn(text: string): string | null {
  // JSON may contain U+2028 and U+2029, where `.` and `$` would end.
  const data = /(?:^|\n)data: ?(\{[^\r\n]*)/.exec(text)?.[1] ?? text;
  try {
    const value: unknown = JSON.parse(data);
    const isMessage = typeof value === 'object' && value !== null && 'jsonrpc' in value;
    return isMessage ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}

/** The text of a problem document. */
function refusalIn({ status, text }: { status: number; text: string }): string {
  try {
    const { code, detail } = JSON.parse(text);
    if (typeof code === 'string' && typeof detail === 'string')
      return `${code}: ${detail}`.slice(0, MAX_REFUSAL_CHARACTERS);
  } catch {
    // Not a problem document.
  }
  return `The server returned ${status}.`;
}

/** `id`: null if it is not known. */
function failure(id: string | number | null, message: string, code = INTERNAL_ERROR): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
