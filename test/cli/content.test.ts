import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../support/server-process.ts';
import { run, startScript, temporaryFolder } from './process.ts';

/** A copy of the starter site that tests break. */
function copySite(folder: string): string {
  const contentDir = join(folder, 'content');
  cpSync('content', contentDir, { recursive: true });
  return contentDir;
}

test.each([
  [
    'a page without a title',
    'pricing.md',
    (text: string) => text.replace(/^title:.*$/m, 'titel: Prices'),
    /pricing\.md:\d+: .*titel/,
  ],
  [
    'a site.json that is no JSON',
    'site.json',
    (text: string) => text.replace('"description":', '"description"'),
    /site\.json:\d+:\d+: /,
  ],
])(
  '%s prevents startup with file and line, exit code 78 and nothing opened',
  async (_name, file, spoil, said) => {
    using folder = temporaryFolder();
    const contentDir = copySite(folder.path);
    const path = join(contentDir, file);
    writeFileSync(path, spoil(readFileSync(path, 'utf8')));
    const dataDir = join(folder.path, 'data');
    const ended = await run(['serve'], { DATA_DIR: dataDir, CONTENT_DIR: contentDir, PORT: '0' });
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 78, stdout: '' });
    expect(ended.stderr).toMatch(said);
    expect(ended.stderr).toContain(contentDir);
    expect(ended.stderr).not.toContain('    at ');
    expect(existsSync(join(dataDir, 'signalpost.db'))).toBe(false);
  },
);

test('a missing content folder prevents startup, and the message names the setting', async () => {
  using folder = temporaryFolder();
  const missing = join(folder.path, 'nowhere');
  const ended = await run(['serve'], { DATA_DIR: folder.path, CONTENT_DIR: missing, PORT: '0' });
  expect(ended).toMatchObject({ code: 78, stdout: '' });
  expect(ended.stderr).toContain(missing);
  expect(ended.stderr).toContain('CONTENT_DIR');
});

test('npm run dev serves the current page after each change, and waits until an error is fixed', async () => {
  using folder = temporaryFolder();
  const contentDir = copySite(folder.path);
  const page = join(contentDir, 'pricing.md');
  const whole = readFileSync(page, 'utf8');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/pricing.md`;
  const env = { DATA_DIR: join(folder.path, 'data'), CONTENT_DIR: contentDir, PORT: String(port) };
  await using dev = startScript('dev', env);
  try {
    await untilPage(url, (text) => text !== '');
    appendFileSync(page, '\nA line that was not there before.\n');
    await untilPage(url, (text) => text.includes('A line that was not there before.'));
    writeFileSync(page, `spoiled\n${whole}`);
    await dev.heard(/pricing\.md:1: /);
    writeFileSync(page, whole);
    await untilPage(
      url,
      (text) => text !== '' && !text.includes('spoiled') && !text.includes('not there before'),
    );
  } finally {
    // Not SIGKILL, which would leave npm's child running.
    dev.kill('SIGTERM');
    await dev.ended;
  }
}, 240_000);

/** Retries until the page is as expected; a restarting server does not respond for a moment. */
async function untilPage(url: string, isRight: (text: string) => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const text = await fetch(url).then(
      (answer) => (answer.ok ? answer.text() : ''),
      () => '',
    );
    if (isRight(text)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} did not become what it should`);
}
