import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The path of Chromium, or null. `CHROMIUM` sets another path. */
function findChromium(): string | null {
  const place = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));
  return place ?? null;
}

/**
 * Whether browser tests may be skipped because there is no browser. In CI they fail instead: a check that does not
 * run proves nothing.
 */
export function mayLackBrowser(): boolean {
  return findChromium() === null && !process.env.CI;
}

/** Starts Chromium with all its own network requests disabled. */
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
