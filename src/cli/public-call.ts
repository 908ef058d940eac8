import type { Command } from 'commander';
import type { z } from 'zod';
import { fromIso } from '../lib/clock.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { type Answer, fetchText, NetworkError } from './request.ts';

const TIMEOUT_MS = 10_000;

/** A command that asks a running server without a key; its exit codes are those of every such command. */
export function addPublicCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(`${description}; exit code 0 success, 1 API error, 2 network error, 3 rate limited`)
    .option('--base-url <url>', 'address of the server (or SIGNALPOST_URL; else http://localhost:PORT)');
}

export interface PublicCall {
  /** From `--base-url`. */
  baseUrl: string | undefined;
  path: string;
  accept: string;
  /** A bearer token to show; never told in any message. */
  token?: string | undefined;
}

/** The server's answer, whatever its status but 429. @throws CommandError where none came, or it was 429 */
export async function askServer(ports: Ports, { baseUrl, path, accept, token }: PublicCall) {
  const url = new URL(`${serverAddress(ports.env, baseUrl)}${path}`).href;
  const headers = { accept, ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await ask(ports, url, headers);
  if (answer.status === 429) throw rateLimited(answer, ports.clock.now());
  return { ...answer, url };
}

/** JSON of a 200 that fits `promise`, as text and read. @throws CommandError for anything else */
export async function askForJson<S extends z.ZodType>(
  ports: Ports,
  call: Omit<PublicCall, 'accept'>,
  promise: S,
): Promise<{ text: string; value: z.output<S> }> {
  const answer = await askServer(ports, { ...call, accept: 'application/json' });
  if (answer.status !== 200) throw apiError(answer);
  const checked = promise.safeParse(parseJson(answer.text));
  if (checked.success) return { text: answer.text.trimEnd(), value: checked.data };
  throw new CommandError(
    `${answer.url} answered 200, but not with what ${call.path} promises:\n${answer.text}`.trimEnd(),
  );
}

/** An answer that is no success, with its document. */
export function apiError({ url, status, text }: { url: string; status: number; text: string }): CommandError {
  return new CommandError(`${url} answered ${status}\n${text}`.trimEnd());
}

async function ask(ports: Ports, url: string, headers: Record<string, string>): Promise<Answer> {
  try {
    return await fetchText(ports.clock, { url, headers, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof NetworkError) throw new CommandError(error.message, EXIT.network);
    throw error;
  }
}

/** The address of the server that a command asks, without a trailing slash. @throws CommandError */
export function serverAddress(env: NodeJS.ProcessEnv, option: string | undefined): string {
  const text = option ?? (env.SIGNALPOST_URL || `http://localhost:${env.PORT || 3000}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') {
    return text.replace(/\/+$/, '');
  }
  throw new CommandError(`"${text}" is no address of a server, such as http://localhost:3000`, EXIT.usage);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `Retry-After` is seconds or a date (RFC 9110, section 10.2.3). */
function rateLimited({ headers }: Answer, now: number): CommandError {
  const value = String(headers['retry-after'] ?? '');
  const until = fromIso(value);
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.max(0, Math.ceil((until - now) / 1000));
  const when = Number.isNaN(seconds) ? 'unknown' : String(seconds);
  return new CommandError(`Rate limited. Retry-After: ${when}`, EXIT.rateLimited);
}
