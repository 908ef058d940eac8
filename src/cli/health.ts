import type { Command } from 'commander';
import { z } from 'zod';
import { fromIso } from '../lib/clock.ts';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { type Answer, fetchText, NetworkError } from './request.ts';

const TIMEOUT_MS = 10_000;

/** What `/api/health` promises; further members are allowed, as later releases may add them. */
const healthAnswer = z.object({
  success: z.literal(true),
  data: z.object({ status: z.literal('ok'), service: z.string(), time: z.iso.datetime({ offset: true }) }),
});

/** `health`: asks a running server whether it is well. */
export function addHealth(parent: Command, ports: Ports): void {
  parent
    .command('health')
    .description('ask a running server; exit code 0 well, 1 API error, 2 network error, 3 rate limited')
    .option('--base-url <url>', 'address of the server (or SIGNALPOST_URL; else http://localhost:PORT)')
    .action(({ baseUrl }: { baseUrl?: string }) => health(ports, baseUrl));
}

async function health(ports: Ports, option: string | undefined): Promise<void> {
  const url = `${serverAddress(ports.env, option)}/api/health`;
  const answer = await ask(ports, url);
  if (answer.status === 429) throw rateLimited(answer, ports.clock.now());
  if (answer.status !== 200) {
    throw new CommandError(`${url} answered ${answer.status}\n${answer.text}`.trimEnd());
  }
  if (!healthAnswer.safeParse(parseJson(answer.text)).success) {
    throw new CommandError(`${url} answered 200, but not with what a health check promises:\n${answer.text}`);
  }
  ports.out(answer.text.trimEnd());
}

async function ask(ports: Ports, url: string): Promise<Answer> {
  try {
    return await fetchText(ports.clock, {
      url,
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
    });
  } catch (error) {
    if (error instanceof NetworkError) throw new CommandError(error.message, EXIT.network);
    throw error;
  }
}

function serverAddress(env: NodeJS.ProcessEnv, option: string | undefined): string {
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
