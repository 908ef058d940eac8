import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTenant } from '../../src/accounts/tenants.ts';
import { progressText } from '../../src/cli/import.ts';
import { CommandError, type Opened, type Ports } from '../../src/cli/ports.ts';
import { runCommand } from '../../src/cli/program.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSeededRandom } from '../../src/lib/secret-box.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { aPost } from '../support/app.ts';
import { openTestStore } from '../support/store.ts';
import { temporaryFolder } from './process.ts';

let folder: ReturnType<typeof temporaryFolder>;
let opened: Opened;
let tenantId: string;

beforeEach(async () => {
  folder = temporaryFolder();
  const { store, clock } = await openTestStore();
  const account = { store, clock, random: systemRandom, newId: createIds(clock, systemRandom) };
  const { tenant } = await createTenant(account, { name: 'Acme', email: 'o@example.com', plan: 'pro' });
  tenantId = tenant.id;
  opened = {
    ...account,
    matchers: createMatchers(store),
    encoder: null,
    seededRandom: createSeededRandom(Buffer.alloc(32, 7)),
    cursors: createCursors(Buffer.alloc(32, 7)),
    baseUrl: 'http://localhost:3000',
    start: () => Promise.reject(new Error('nothing is served here')),
    close: () => Promise.resolve(),
  };
});
afterEach(async () => {
  await opened.store.close();
  folder[Symbol.dispose]();
});

async function run(...args: string[]) {
  const said = { out: [] as string[], err: [] as string[], bars: [] as (string | null)[], code: 0 };
  const ports: Ports = {
    program: 'signalpost',
    release: async () => ({ version: '1.2.3', schema: 4, model: '2026-01-31' }),
    env: {},
    clock: opened.clock,
    out: (line) => void said.out.push(line),
    err: (line) => void said.err.push(line),
    progress: (text) => void said.bars.push(text),
    setExitCode: (code) => {
      said.code = code;
    },
    open: () => Promise.resolve(opened),
    migrate: () => Promise.reject(new Error('nothing to migrate')),
    upkeep: () => Promise.reject(new Error('nothing to keep up')),
    copyStore: () => Promise.reject(new Error('nothing to copy')),
    onStop: () => undefined,
  };
  await runCommand(['import', ...args], ports).catch((error: unknown) => {
    if (!(error instanceof CommandError)) throw error;
    said.err.push(error.message);
    said.code = error.exitCode;
  });
  return said;
}

function file(name: string, lines: readonly (object | string)[]): string {
  const path = join(folder.path, name);
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  writeFileSync(path, `${text.join('\n')}\n`);
  return path;
}

const post = (number: number) =>
  aPost({ platform: { name: 'reddit', post_url: `https://reddit.com/r/hvac/${number}` } });
const stored = async () => (await opened.store.listPosts(tenantId, 1_000)).length;

describe('import', () => {
  test('imports JSON Lines, shows its progress, and gives the same result when it is run again', async () => {
    const path = file(
      'posts.jsonl',
      Array.from({ length: 250 }, (_, i) => post(i)),
    );
    const first = await run(path);
    expect(first).toMatchObject({ code: 0, err: [] });
    expect(first.out).toEqual(['250 rows: 250 created, 0 duplicates, 0 rejected.']);
    expect(first.bars.at(-2)).toMatch(/^\[#{24}\] 100%, 250 rows$/);
    expect(await stored()).toBe(250);
    await run(path);
    appendFileSync(path, `${JSON.stringify(post(999))}\n`);
    expect((await run(path)).code).toBe(0);
    expect(await stored()).toBe(251);
  });

  test('continues after an interruption, without losing or duplicating anything', async () => {
    const text = (i: number) => ({
      ...aPost(),
      platform: { name: 'forum' },
      text: `${aPost().text} Number ${i}.`,
    });
    const path = file(
      'posts.jsonl',
      Array.from({ length: 150 }, (_, i) => text(i)),
    );
    const { store } = opened;
    let answers = 0;
    const cut = new Proxy(store, {
      get: (target, name) => {
        if (name === 'answerKey' && answers++ > 0) return () => Promise.reject(new CommandError('cut'));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    opened = { ...opened, store: cut };
    expect((await run(path)).code).toBe(1);
    opened = { ...opened, store };
    expect((await run(path)).out).toEqual(['150 rows: 150 created, 0 duplicates, 0 rejected.']);
    expect(await stored()).toBe(150);
  });

  test('while another process is importing the file, or was until it was killed, says when to try again', async () => {
    const path = file('posts.jsonl', [post(1)]);
    const { store } = opened;
    const rival = new Proxy(store, {
      get: (target, name) => {
        if (name === 'reserveKey') return async () => ({ state: 'running' });
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    opened = { ...opened, store: rival };
    const said = await run(path);
    expect(said.code).toBe(1);
    expect(said.err[0]).toMatch(
      /^This file is being imported by another process.*again in 30 s: it continues/,
    );
    opened = { ...opened, store };
    expect((await run(path)).out).toEqual(['1 rows: 1 created, 0 duplicates, 0 rejected.']);
  });

  test('with more columns than any table of posts has, a CSV file is refused', async () => {
    const names = Array.from({ length: 1_001 }, (_, i) => `column_${i}`).join(',');
    const said = await run(file('posts.csv', [names, '1,2', '3,4']));
    expect(said.code).toBe(1);
    expect(said.err).toEqual([`${join(folder.path, 'posts.csv')}: has 1001 columns: at most 1000 are read.`]);
  });

  test('reports each error with file and line, imports the rest, and exits with 1', async () => {
    const odd = { ...post(3), txt: 'typo', prospect: { email: 'nobody' } };
    const path = file('posts.jsonl', [post(1), '{"text":', '', { text: 'no platform' }, post(2), '[]', odd]);
    const said = await run(path);
    expect(said.code).toBe(1);
    expect(said.err[0]).toMatch(/posts\.jsonl:2: is no JSON/);
    expect(said.err[1]).toMatch(/posts\.jsonl:4: platform: "platform" is required\.$/);
    expect(said.err[2]).toMatch(
      /posts\.jsonl:6: is no object: each row is a post, or a signal as the API shows it\.$/,
    );
    expect(said.err[3]).toMatch(
      /posts\.jsonl:7: prospect\.email: "email" must be an email address\. txt: "txt" is not a known member\. Did you mean "text"\?/,
    );
    expect(said.err).toHaveLength(4);
    expect(said.out).toEqual(['6 rows: 2 created, 0 duplicates, 4 rejected.']);
  });

  test('reports an error found only when storing at its line', async () => {
    const path = file('posts.jsonl', [post(1), { ...post(2), icp_profile_id: 'icp_none' }]);
    const said = await run(path);
    expect(said.err[0]).toMatch(/posts\.jsonl:2: icp_profile_id: /);
    expect(said.out).toEqual(['2 rows: 1 created, 0 duplicates, 1 rejected.']);
  });

  test('reads CSV by column names, with quotes and line breaks in values', async () => {
    const path = file('posts.csv', [
      'text,platform,post_url,prospect_name,company.domain',
      `"${aPost().text}",reddit,https://reddit.com/r/x/1,Dana Whitlock,example.com`,
      '"Looking for a CRM,',
      'soon",reddit,https://reddit.com/r/x/2,,',
      '"",reddit,https://reddit.com/r/x/3,,',
    ]);
    const said = await run(path);
    expect(said.err).toEqual([expect.stringMatching(/posts\.csv:5: text: /)]);
    expect(said.out).toEqual(['3 rows: 2 created, 0 duplicates, 1 rejected.']);
    const wires = (await opened.store.listPosts(tenantId, 10)).map(({ wire }) => JSON.parse(wire));
    expect(wires.at(-1)).toMatchObject({
      prospect: { name: 'Dana Whitlock' },
      company: { domain: 'example.com' },
    });
  });

  test('imports signals in the format of the API, and a post without a URL only once', async () => {
    await run(file('first.jsonl', [post(1)]));
    const [kept] = await opened.store.listPosts(tenantId, 1);
    const signal = JSON.parse(kept?.wire ?? '');
    const again = await run(file('signals.jsonl', [signal]));
    expect(again.out).toEqual(['1 rows: 0 created, 1 duplicates, 0 rejected.']);
    const bare = { text: aPost().text, platform: { name: 'forum' } };
    const twice = await run(file('bare.jsonl', [bare, bare]));
    expect(twice.out).toEqual(['2 rows: 1 created, 1 duplicates, 0 rejected.']);
  });

  test('prints no control characters from a file, which could control the terminal or disguise a line', async () => {
    const member = { ...post(1), '\u001b]0;pwned\u0007\nposts.jsonl:9: is well': 1 };
    const path = file('posts.jsonl', ['\u001b]0;pwned\u0007 not json', '\u009b2J', member]);
    const said = await run(path);
    expect(said.err).toHaveLength(3);
    expect(said.err[0]).toContain('\\u001b]0;pwned\\u0007');
    expect(said.err.join('')).not.toMatch(/\p{Cc}/u);
  });

  test('treats columns and members by their names, whatever those are', async () => {
    const rows =
      'text,platform,__proto__,constructor\nLooking for a CRM,forum,a,b\nAnd for a phone,forum,,\n';
    const said = await run(file('posts.csv', [rows]));
    expect(said.out).toEqual(['2 rows: 1 created, 0 duplicates, 1 rejected.']);
    expect(said.err[0]).toMatch(/posts\.csv:2: .*is not a known member/);
    const own = '{"text":"Looking for a CRM","platform":{"name":"forum"},"__proto__":{"text":"x"}}';
    expect((await run(file('posts.jsonl', [own]))).code).toBe(1);
  });

  test.each([
    ['deeply nested', `${'['.repeat(100_000)}`, /:1: is nested deeper than 32 levels$/],
    ['crowded', `{"text":[${'{},'.repeat(60_000)}{}]}`, /:1: has more than 10000 values$/],
  ])('refuses a line that is %s without creating objects from it', async (_, line, fault) => {
    const said = await run(file('posts.jsonl', [line, post(1)]));
    expect(said.err[0]).toMatch(fault);
    expect(said.out).toEqual(['2 rows: 1 created, 0 duplicates, 1 rejected.']);
  });

  test('reads a line of 150 MB in bounded memory, and the lines after it', async () => {
    const path = join(folder.path, 'posts.jsonl');
    for (let i = 0; i < 150; i++) appendFileSync(path, 'x'.repeat(1024 * 1024));
    appendFileSync(path, `\n${JSON.stringify(post(1))}`);
    const before = process.memoryUsage().heapUsed;
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    }, 5);
    const said = await run(path);
    clearInterval(timer);
    expect(said.err[0]).toMatch(/:1: has more than 262144 characters$/);
    expect(said.out).toEqual(['2 rows: 1 created, 0 duplicates, 1 rejected.']);
    // Well below the size of the line, and above the garbage not yet collected.
    expect(most).toBeLessThan(100 * 1024 * 1024);
  });

  test('reads lines with any kind of line ending, wherever a chunk of the file ends', async () => {
    const long = { ...post(1), text: `Looking for a CRM ${'\u2028 again'.repeat(2_000)}` };
    const path = file('posts.jsonl', []);
    const lines = Array.from({ length: 40 }, (_, i) =>
      JSON.stringify({ ...long, platform: post(i).platform }),
    );
    writeFileSync(path, `\uFEFF${lines.join('\r\n')}`);
    const said = await run(path);
    expect(said.err).toEqual([]);
    expect(said.out[0]).toMatch(/^40 rows: /);
  });

  test('--dry-run checks every row and stores nothing', async () => {
    const said = await run(file('posts.jsonl', [post(1), '{', post(2)]), '--dry-run');
    expect(said.out).toEqual(['3 rows: 2 can be read, 1 cannot; nothing was stored.']);
    expect(said.code).toBe(1);
    expect(await stored()).toBe(0);
  });

  test('reports what is missing: file, tenant', async () => {
    expect(await run(join(folder.path, 'none.jsonl'))).toMatchObject({ code: 64 });
    const path = file('posts.jsonl', [post(1)]);
    expect((await run(path, '--tenant', 'ten_none')).err).toEqual([expect.stringContaining('ten_none')]);
    const { store, clock, random, newId } = opened;
    const other = { name: 'Other', email: 'x@example.com', plan: 'pro' } as const;
    await createTenant({ store, clock, random, newId }, other);
    expect(await run(path)).toMatchObject({ code: 64 });
    const said = await run(path, '--tenant', tenantId, '--json');
    expect(JSON.parse(said.out[0] ?? '')).toEqual({
      ...{ rows: 1, created: 1, duplicates: 0, rejected: 0, dry_run: false },
    });
  });
});

test('a bar shows its progress', () => {
  expect(progressText(0.5, 1_200)).toBe('[############------------] 50%, 1200 rows');
});
