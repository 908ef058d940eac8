import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder with site content written by a test, removed when it goes out of scope. */
export interface SiteFolder extends Disposable {
  path: string;
}

/** The minimum content of `site.json`. */
export const SITE_JSON = {
  name: 'Brook Electrical',
  description: 'Electricians in Brookford: rewires, boards and chargers.',
  lang: 'en-GB',
  email: 'hello@brook.example',
  phone: '01632 960001',
  address: {
    street: '1 Mill Lane',
    town: 'Brookford',
    region: 'Kent',
    postcode: 'TN1 1AA',
    country: 'GB',
  },
  navigation: [{ label: 'Home', path: '/' }],
};

/** A page file whose body starts at line 6. */
export function pageFile(body: string, front: Record<string, string> = {}): string {
  const fields = { title: 'A page', description: 'd'.repeat(60), updated: '2026-11-20', ...front };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return `---\n${head.join('\n')}\n---\n${body}`;
}

/** Writes `files` in addition to a valid `site.json` and home page, which they may replace. */
export function siteFolder(files: Record<string, string | Buffer>): SiteFolder {
  const path = mkdtempSync(join(tmpdir(), 'signalpost-site-'));
  const all = {
    'site.json': `${JSON.stringify(SITE_JSON, null, 2)}\n`,
    'index.md': pageFile('# Welcome\n\nHello.\n'),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
