import type { Command } from 'commander';
import { CommandError, EXIT, type Ports } from './ports.ts';
import { addPublicCommand, apiError, askServer, type PublicCall } from './public-call.ts';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** `page PATH`: any page of the site as markdown. */
export function addPage(parent: Command, ports: Ports): void {
  addPublicCommand(parent, 'page', 'print a page of a running server as markdown')
    .argument('<path>', 'path of the page, such as /pricing')
    .action(async (path: string, { baseUrl }: { baseUrl?: string }) => {
      ports.out(await readPage(ports, baseUrl, path));
    });
}

async function readPage(ports: Ports, baseUrl: string | undefined, path: string): Promise<string> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    throw new CommandError(`"${path}" is an address; give its path alone, such as /pricing`, EXIT.usage);
  }
  const call = { baseUrl, path: path.startsWith('/') ? path : `/${path}`, accept: 'text/markdown' };
  const answer = await askFollowing(ports, call);
  if (answer.status !== 200) throw apiError(answer);
  const type = String(answer.headers['content-type'] ?? 'no content type');
  if (!/^text\/markdown\s*(;|$)/i.test(type)) {
    throw new CommandError(`${answer.url} answered 200, but with ${type} where markdown was asked for`);
  }
  return answer.text.trimEnd();
}

/** Follows one redirect, as of a trailing slash, and only to the same server: a page is never somebody else's. */
async function askFollowing(ports: Ports, call: PublicCall) {
  const first = await askServer(ports, call);
  const location = first.headers.location;
  if (!REDIRECTS.has(first.status) || typeof location !== 'string') return first;
  const target = URL.canParse(location, first.url) ? new URL(location, first.url) : null;
  if (target === null || target.origin !== new URL(first.url).origin) return first;
  return askServer(ports, { ...call, baseUrl: target.origin, path: `${target.pathname}${target.search}` });
}
