import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { run } from '../../test/cli/process.ts';
import { launchBrowser } from '../../test/support/browser.ts';
import { freePort, serverEnv, startServerProcess } from '../../test/support/server-process.ts';
import { fillAccount, startReceiver } from './account.ts';

/**
 * Screenshots of the dashboard with the demo's posts, on a separate server. Without `--all`, the four in the
 * README; with `--all FOLDER`, every screen in light and dark, wide and narrow, for review.
 */
const PASSWORD = 'a picture of a password';
const README_IMAGES = new URL('../../docs/images/', import.meta.url).pathname;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { all: { type: 'string' } } });
  const folder = await mkdtemp(join(tmpdir(), 'signalpost-pictures-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServerProcess(folder, port, { BASE_URL: url });
  const receiver = await startReceiver();
  const browser = await launchBrowser();
  try {
    const create = [
      'tenant',
      'create',
      '--name',
      'Northgate Software',
      '--email',
      'sam@northgate.example',
      '--json',
    ];
    const env = { ...serverEnv(folder, port), BASE_URL: url };
    const made = JSON.parse((await run(create, env)).stdout) as { api_key: string; setup_url: string };
    const { signal, screens } = await fillAccount(url, made.api_key, receiver.url);
    const page = await browser.newPage({ deviceScaleFactor: 1 });
    await page.goto(made.setup_url);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: /^Set password/ }).click();
    await page.waitForURL(/dashboard\/?$/);
    if (values.all !== undefined) await pictureAll(page, url, screens, values.all);
    else await pictureForReadme(page, url, signal);
  } finally {
    await browser.close();
    await server.terminate();
    receiver.server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function pictureForReadme(page: Page, url: string, signal: string): Promise<void> {
  await mkdir(README_IMAGES, { recursive: true });
  const wanted = {
    signals: '/signals?state=all&sort=-icp_score',
    signal: `/signals/${signal}`,
    pipeline: '/pipeline',
    'webhook-logs': '/webhook-logs',
  };
  await page.setViewportSize({ width: 1280, height: 800 });
  const devtools = await page.context().newCDPSession(page);
  for (const [name, path] of Object.entries(wanted)) {
    await page.goto(`${url}/dashboard${path}`);
    // The signal next to the list is loaded after it.
    if (name === 'signals') await page.locator('[data-inbox-pane] h1').waitFor();
    // A quarter of the size of a PNG.
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
    await writeFile(join(README_IMAGES, `${name}.webp`), Buffer.from(data, 'base64'));
  }
}

async function pictureAll(
  page: Page,
  url: string,
  screens: readonly string[],
  folder: string,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const path of screens) {
    await page.goto(url + path);
    const name =
      path
        .replace('/dashboard', '')
        .replaceAll(/[^\w]+/g, '-')
        .replaceAll(/_\w{20,}/g, '') || '-today';
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.screenshot({
          path: join(folder, `${name.slice(1)}-${width}-${colorScheme}.png`),
          fullPage: true,
        });
      }
    }
  }
}

await main();
