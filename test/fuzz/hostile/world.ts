import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newKey } from '../../../src/accounts/keys.ts';
import { createTenant } from '../../../src/accounts/tenants.ts';
import { loadConfig } from '../../../src/config.ts';
import { SCOPES } from '../../../src/model/key.ts';
import { SOURCE_KINDS, type SourceKind } from '../../../src/model/source.ts';
import { openRuntime } from '../../../src/runtime.ts';
import { freePort, type ServerProcess, serverEnv, startServerProcess } from '../../support/server-process.ts';
import { type HostileHost, startHostileHost } from './host.ts';

/** A client that waited this long is considered hung. */
export const GIVE_UP_MS = 15_000;
const RUN_MS = 60_000;
/** The URL of a redirect is returned with all of its characters escaped. */
const ANSWER_HEAD_BYTES = 256 * 1024;
const PROBE = fileURLToPath(new URL('./probe.ts', import.meta.url));
const PASSWORD = 'correct horse battery staple';
const OWN_ADDRESS = ['rss', 'discourse', 'lemmy', 'mastodon'];

/** A response of the server. */
export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** A request as sent over the wire. */
export interface Sent {
  method?: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

/** What other clients experienced since the previous call of the probe. */
export interface Seen {
  longestMs: number;
  /** The path of the request that waited longest. */
  longestOf: string;
  mostBytes: number;
  /** Whether a request is still waiting. */
  hung: boolean;
}

/** A real server process, a hostile tenant, another one that is not, and a host that the server reads from. */
export interface World {
  server: ServerProcess;
  host: HostileHost;
  /** The environment of the server, for commands on the same data. */
  env: NodeJS.ProcessEnv;
  tenantId: string;
  send(sent: Sent): Promise<Reply>;
  /** Sends a `/v1` request with the hostile tenant's key; `body` is sent as JSON unless it is a string. */
  call(method: string, path: string, body?: unknown, headers?: OutgoingHttpHeaders): Promise<Reply>;
  /** Submits a dashboard form as the owner, or without being signed in. */
  post(path: string, form: string | Record<string, string>, by?: 'owner' | 'nobody'): Promise<Reply>;
  /** Opens a dashboard screen as the owner. */
  screen(path: string): Promise<Reply>;
  /** Runs a source once and returns how the run ended. */
  read(kind: SourceKind, settings: object): Promise<string>;
  probe(): Promise<Seen>;
  close(): Promise<void>;
}

/** Opens a world with a data folder of its own. */
export async function openWorld(env: NodeJS.ProcessEnv = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-hostile-'));
  const host = await startHostileHost();
  const port = await freePort();
  const whole = { ...serverEnv(folder, port), ...hostileEnv(host), LOG_LEVEL: 'error', ...env };
  const accounts = await foundAccounts(whole);
  const server = await startServerProcess(folder, port, whole);
  const probe = fork(PROBE, [server.url, accounts.neighbourKey, String(server.pid), String(GIVE_UP_MS)]);
  const send = createSend(server.url);
  const call: World['call'] = (method, path, body, headers = {}) =>
    send({
      ...{ method, path },
      headers: { authorization: `Bearer ${accounts.key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const browser = createBrowser(send, accounts.setupToken);
  await Promise.all([seenBy(probe), browser.screen('/dashboard')]);
  return {
    ...{ server, host, send, call },
    env: whole,
    tenantId: accounts.tenantId,
    post: browser.post,
    screen: browser.screen,
    read: (kind, settings) => readOnce(call, { kind, name: 'Hostile', ...settings }),
    probe: () => seenBy(probe),
    async close() {
      probe.kill('SIGKILL');
      await server.kill();
      await host.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Every kind of source reads from the host, and rate limits reject nobody. */
function hostileEnv({ origin }: HostileHost): NodeJS.ProcessEnv {
  const kinds = SOURCE_KINDS.filter((kind) => !OWN_ADDRESS.includes(kind));
  return {
    SOURCE_SITES: JSON.stringify(Object.fromEntries(kinds.map((kind) => [kind, `${origin}/${kind}`]))),
    ENRICHMENT_URL: `${origin}/enrich`,
    ENRICHMENT_DAILY_LIMIT: '1000000',
    PUBLIC_RATE_LIMIT: '1000000',
    DASHBOARD_RATE_LIMIT: '1000000',
    TRUST_PROXY: '127.0.0.1/32',
  };
}

async function foundAccounts(env: NodeJS.ProcessEnv) {
  const runtime = await openRuntime(loadConfig(env), { takesPosts: false });
  try {
    const made = [];
    for (const name of ['hostile', 'neighbour']) {
      const account = { name, email: `${name}@example.com`, plan: 'enterprise' } as const;
      const { tenant, setupToken } = await createTenant(runtime, account);
      const input = { tenantId: tenant.id, name: 'Fuzz', scopes: [...SCOPES], rateLimit: 1_000_000 };
      const { key, apiKey } = newKey(runtime, input);
      await runtime.store.createKey(key, 1_000);
      made.push({ tenantId: tenant.id, setupToken, key: apiKey });
    }
    const [hostile, neighbour] = made;
    if (hostile === undefined || neighbour === undefined) throw new Error('both were made');
    return { ...hostile, neighbourKey: neighbour.key };
  } finally {
    await runtime.close();
  }
}

let clients = 0;

/** Each request has a new address behind a trusted proxy, so that earlier ones do not use up its limit. */
function createSend(url: string): World['send'] {
  return ({ method = 'GET', path, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      clients++;
      const forwarded = `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = httpRequest(
        url,
        {
          method,
          path,
          agent: false,
          maxHeaderSize: ANSWER_HEAD_BYTES,
          headers: { 'x-forwarded-for': forwarded, ...length, ...headers },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
          });
        },
      );
      request.once('error', (error: NodeJS.ErrnoException) => {
        // A body rejected before it was fully sent is answered and the connection closed; the response may be lost.
        const isCut = error.code === 'EPIPE' || error.code === 'ECONNRESET';
        if (isCut && body !== undefined) resolve({ status: 413, headers: {}, body: 'cut off' });
        else reject(error);
      });
      request.end(body);
    });
}

/** A browser of the owner, signed in with the one-time link, and one that is not signed in. */
function createBrowser(send: World['send'], setupToken: string) {
  const jar = { owner: new Map<string, string>(), nobody: new Map<string, string>() };

  async function go(by: keyof typeof jar, sent: Sent): Promise<Reply> {
    const cookie = [...jar[by]].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await send({ ...sent, headers: { ...(cookie && { cookie }), ...sent.headers } });
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar[by].set(name, value);
    }
    return reply;
  }

  const tokens = new Map<string, string>();
  async function tokenOf(by: keyof typeof jar): Promise<string> {
    const page = await go(by, { path: by === 'owner' ? '/dashboard/settings/account' : '/dashboard/setup' });
    const token = /name="_csrf" value="([^"]+)"/.exec(page.body)?.[1];
    if (token === undefined) throw new Error(`no form for ${by}: ${page.status}`);
    tokens.set(by, token);
    return token;
  }

  async function post(path: string, form: string | Record<string, string>, by: keyof typeof jar = 'owner') {
    if (by === 'owner') await signIn();
    const token = tokens.get(by) ?? (await tokenOf(by));
    const fields = typeof form === 'string' ? form : new URLSearchParams(form).toString();
    return go(by, {
      ...{ method: 'POST', path },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `_csrf=${encodeURIComponent(token)}&${fields}`,
    });
  }

  let signedIn: Promise<void> | null = null;
  function signIn(): Promise<void> {
    signedIn ??= (async () => {
      const { status, headers } = await post(
        '/dashboard/setup',
        { token: setupToken, password: PASSWORD },
        'nobody',
      );
      if (status !== 303) throw new Error(`set-up answered ${status}`);
      for (const [name, value] of jar.nobody) jar.owner.set(name, value);
      jar.nobody.clear();
      tokens.clear();
      if (headers.location === undefined) throw new Error('set-up leads nowhere');
    })();
    return signedIn;
  }

  return {
    post,
    async screen(path: string): Promise<Reply> {
      await signIn();
      return go('owner', { path });
    },
  };
}

async function readOnce(call: World['call'], input: object): Promise<string> {
  const made = await call('POST', '/v1/sources', input);
  if (made.status !== 201) return `${made.status} ${made.body.slice(0, 200)}`;
  const { id } = JSON.parse(made.body).data;
  const until = performance.now() + RUN_MS;
  while (performance.now() < until) {
    const { data } = JSON.parse((await call('GET', `/v1/sources/${id}`)).body);
    if (data.last_run_at !== null) {
      await call('DELETE', `/v1/sources/${id}`);
      return data.last_error === null ? `read ${data.items_seen}` : data.last_error.code;
    }
    await pause(10);
  }
  return 'no run ended';
}

async function seenBy(probe: ChildProcess): Promise<Seen> {
  probe.send('tell');
  const [seen] = await once(probe, 'message');
  return seen;
}
