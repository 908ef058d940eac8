import { fileURLToPath } from 'node:url';
import { loadSiteContent, type SiteContent } from '../../src/site/content/site-content.ts';
import { BASE_URL, buildTestApp, type TestApp } from './app.ts';
import { freePort } from './server-process.ts';

const CONTENT_DIR = fileURLToPath(new URL('../../content', import.meta.url));
/** Cached between runs, so that only the first one pays for shiki's grammars. */
const CACHE_FILE = fileURLToPath(new URL('../../node_modules/.cache/signalpost/code.json', import.meta.url));

/** The site in `content/`, as a server at `baseUrl` would serve it. */
export function loadStarterSite(baseUrl = BASE_URL): Promise<SiteContent> {
  return loadSiteContent({ contentDir: CONTENT_DIR, baseUrl, cacheFile: CACHE_FILE });
}

/** The whole app with the starter site, listening on loopback. */
export interface RunningSite extends TestApp {
  url: string;
  content: SiteContent;
}

/** Serves the starter site at its own address, without the rate limit that a tool's many requests would exceed. */
export async function serveStarterSite(): Promise<RunningSite> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const content = await loadStarterSite(url);
  const test = await buildTestApp({ content, env: { BASE_URL: url, PUBLIC_RATE_LIMIT: '1000000' } });
  await test.app.listen({ host: '127.0.0.1', port });
  return { ...test, url, content };
}
