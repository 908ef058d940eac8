import { beforeEach, expect, test } from 'vitest';
import type { Opened, Ports } from '../../src/cli/ports.ts';
import { runCommand } from '../../src/cli/program.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { Store } from '../../src/store/store.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { aTenant, openTestStore, T0 } from '../support/store.ts';

const TENANT = 'ten_a';

let store: Store;
let clock: ManualClock;
let out: string[];
beforeEach(async () => {
  ({ store, clock } = await openTestStore());
  await store.createTenant(aTenant(TENANT));
  out = [];
});

/** Runs a command on the store of the test, which stays open. */
async function run(...args: string[]): Promise<void> {
  const ids = createIds(clock, systemRandom);
  const opened = { store, clock, random: systemRandom, newId: ids, baseUrl: 'https://a.example' };
  const open = async () => ({ ...opened, close: async () => undefined }) as Opened;
  await runCommand(args, { open, clock, out: (line) => void out.push(line) } as Ports);
}

test('what commands change stands in the audit list', async () => {
  const names = ['--tenant', TENANT, '--name', 'Import', '--scopes', 'read', '--json'];
  await run('key', 'create', ...names);
  const { key_id } = JSON.parse(out[0] ?? '');
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

test('who lost the phone is helped by owner reset, and only where that is asked for', async () => {
  const userId = `own_${TENANT}`;
  await store.offerFactor(userId, Buffer.from('sealed'));
  await store.confirmFactor({ userId, step: 1, now: T0, codeHashes: ['a'] });
  const reset = ['owner', 'reset', '--email', 'ten_a@example.com'];
  await run(...reset);
  expect(await store.getFactor(userId)).not.toBeNull();
  await run(...reset, '--without-second-factor');
  expect(await store.getFactor(userId)).toBeNull();
  expect(out).toEqual(
    [0, 1].map(() => expect.stringMatching(/^https:\/\/a\.example\/dashboard\/reset#token=/)),
  );
});
