import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { temporaryFolder } from '../cli/process.ts';
import { launchBrowser } from './browser.ts';
import { freePort, runCommand, type ServerProcess, serverEnv, startServerProcess } from './server-process.ts';

export const PASSWORD = 'correct horse battery';
export const OWNER = 'owner@example.com';
const PATIENCE_MS = 60_000;

/** A real server process with one account, created on the command line, and a browser for its dashboard. */
export interface Walk {
  server: ServerProcess;
  browser: Browser;
  /** The one-time link printed by `tenant create`. */
  setupUrl: string;
  /**
   * Everything that the pages must not do: violations of the CSP, requests to other sites, failures, messages in the
   * console.
   */
  faults: string[];
  /** The `data` of a response of `/v1` to a request that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read by later steps
  call(method: string, path: string, body?: object): Promise<any>;
  /** A page in its own browser context. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** The same, for a user who has opened a one-time link and chosen {@link PASSWORD}. */
  comeIn(link: string, options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** `settings` are additional environment variables of the server. */
export async function startWalk(settings: NodeJS.ProcessEnv = {}): Promise<Walk> {
  const folder = temporaryFolder();
  const port = await freePort();
  const env = { BASE_URL: `http://127.0.0.1:${port}`, ...settings };
  const create = ['tenant', 'create', '--name', 'Acme', '--email', OWNER, '--json'];
  const [printed, browser] = await Promise.all([
    runCommand(create, { ...serverEnv(folder.path, port), ...env }),
    launchBrowser(),
  ]);
  const { api_key: apiKey, setup_url: setupUrl } = JSON.parse(printed);
  const server = await startServerProcess(folder.path, port, env);
  const faults: string[] = [];

  function watch(page: Page): void {
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== server.url) faults.push(`asked ${request.url()}`);
    });
    page.on('console', (message) => {
      if (message.type() === 'error' || /Content.Security.Policy/i.test(message.text()))
        faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
  }

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    watch(page);
    return page;
  }

  return {
    ...{ server, browser, setupUrl, faults, open },
    async call(method, path, body) {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const answer = await fetch(server.url + path, init);
      const content = (await answer.json()) as { data: unknown };
      if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(content)}`);
      return content.data;
    },
    async comeIn(link, options) {
      const page = await open(options);
      await page.goto(link);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
      return page;
    },
    async close() {
      await browser.close();
      await server.terminate();
      folder[Symbol.dispose]();
    },
  };
}
