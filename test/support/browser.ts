import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where Chromium is, or null. `CHROMIUM` names another place. */
function findChromium(): string | null {
  const place = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));
  return place ?? null;
}

/**
 * True where tests in a browser cannot be run and need not be: in CI a missing browser fails them instead, as a judge
 * that is away has judged nothing.
 */
export function mayLackBrowser(): boolean {
  return findChromium() === null && !process.env.CI;
}

/** Starts Chromium without anything that it would look up on the network by itself. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) {
    throw new Error('There is no Chromium. Install it (apt-get install chromium), or name it in CHROMIUM.');
  }
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
