import { beforeEach, expect, test } from 'vitest';
import type { Opened } from '../../src/cli/ports.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSeededRandom } from '../../src/lib/secret-box.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import type { Store } from '../../src/store/store.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { aTenant, openTestStore, T0 } from '../support/store.ts';
import { runInProcess } from './in-process.ts';

const TENANT = 'ten_a';

let store: Store;
let clock: ManualClock;
beforeEach(async () => {
  ({ store, clock } = await openTestStore());
  await store.createTenant(aTenant(TENANT));
});

/** Runs a command on the test's store, which stays open. */
async function run(...args: string[]): Promise<string> {
  const opened: Opened = {
    ...{ store, clock, random: systemRandom, newId: createIds(clock, systemRandom) },
    ...{ matchers: createMatchers(store), encoder: null, seededRandom: createSeededRandom(Buffer.alloc(32)) },
    cursors: createCursors(Buffer.alloc(32)),
    baseUrl: 'https://a.example',
    start: () => Promise.reject(new Error('nothing is served here')),
    close: async () => undefined,
  };
  const ended = await runInProcess(args, { clock, open: async () => opened });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return ended.stdout;
}

test('changes made by commands are in the audit log', async () => {
  const names = ['--tenant', TENANT, '--name', 'Import', '--scopes', 'read', '--json'];
  const { key_id } = JSON.parse(await run('key', 'create', ...names));
  await run('key', 'revoke', key_id);
  await run('tenant', 'plan', TENANT, 'starter');
  await run('tenant', 'setup-link', TENANT);
  const query = { actor: 'command line', action: null, from: null, to: null, limit: 10, after: null };
  const { rows } = await store.pageAudit(TENANT, query);
  expect(rows.map(({ action, subject }) => [action, subject])).toEqual([
    ['member.link', `own_${TENANT}`],
    ['plan.change', TENANT],
    ['key.revoke', key_id],
    ['key.create', key_id],
  ]);
});

test('owner reset turns off a lost second factor, but only on request', async () => {
  const userId = `own_${TENANT}`;
  await store.offerFactor(userId, Buffer.from('sealed'));
  await store.confirmFactor({ userId, step: 1, now: T0, codeHashes: ['a'], keep: '' });
  const reset = ['owner', 'reset', '--email', 'ten_a@example.com'];
  const link = /^https:\/\/a\.example\/dashboard\/reset#token=[\w-]{43}\n$/;
  expect(await run(...reset)).toMatch(link);
  expect(await store.getFactor(userId)).not.toBeNull();
  expect(await run(...reset, '--without-second-factor')).toMatch(link);
  expect(await store.getFactor(userId)).toBeNull();
});
