import type { Database } from 'better-sqlite3';
import { expect, test } from 'vitest';
import {
  type ChangeScripts,
  type Changes,
  createChanges,
  type StoreStatements,
} from '../../src/store/changes.ts';
import { answeredLater } from '../../src/store/postgres/runner.ts';
import type { Script, Statements } from '../../src/store/script.ts';
import type { CommittedSignal } from '../../src/store/signal-store.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { createRunner, createStatements } from '../../src/store/sqlite/runner.ts';
import { createWriteAheadLog } from '../../src/store/sqlite/transaction.ts';
import { runLater } from '../support/later.ts';
import { aLead, aNewLead } from '../support/leads.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, T0 } from '../support/store.ts';

function openEmpty(): Database {
  const db = openDatabase(':memory:');
  migrate(db);
  return db;
}

type AnyScript = (...args: unknown[]) => Script<unknown>;

/** The same changes, with an asynchronous driver. */
function openSecond() {
  const db = openEmpty();
  const scripts = createChanges(answeredLater<StoreStatements>());
  const statements = createStatements(db, createWriteAheadLog(db)) as unknown as Statements;
  const asked = new Map<string, number>();
  const counted = Object.fromEntries(
    Object.entries(statements).map(([aggregate, own]) => [
      aggregate,
      Object.fromEntries(
        Object.entries(own).map(([name, statement]) => [
          name,
          (...values: never[]) => {
            asked.set(name, (asked.get(name) ?? 0) + 1);
            return statement(...values);
          },
        ]),
      ),
    ]),
  );
  const run = (name: keyof ChangeScripts, args: unknown[]) =>
    runLater((scripts[name] as AnyScript)(...args), counted);
  return { db, run, asked };
}

/** Every row of every table. */
function allRows(db: Database): Record<string, unknown[]> {
  const tables = db
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    .pluck()
    .all();
  const ordered = tables.filter((name) => !name.startsWith('sqlite_')).sort();
  return Object.fromEntries(ordered.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]));
}

test('what the signals of a change are compared with is looked up in one statement each', async () => {
  const { db, run, asked } = openSecond();
  await run('createTenant', [aTenant('ten_a')]);
  await run('commitLead', [aNewLead('ten_a', aLead('led_1'))]);
  const before = new Map(asked);
  const signals = Array.from({ length: 25 }, (_, i) =>
    aSignal('ten_a', {
      id: `sig_${i}`,
      text: `Looking for a CRM, does anyone know one? ${i} of them`,
      nearKeys: [1, 2, 3, 4, 5 + (i % 3)],
      personKeys: ['email:led_1@acme.com'],
      wire: JSON.stringify({
        ...{
          signal_id: `sig_${i}`,
          icp_score: 60,
          classification: 'warm',
          timestamp: '2026-01-02T00:00:00.000Z',
        },
        ...{ prospect: {}, platform: { posted_at: '' }, lead_id: null },
      }),
    }),
  );
  const committed = (await run('commitSignals', [signals])) as CommittedSignal[];
  expect(committed.map(({ status, wire }) => [status, JSON.parse(wire).lead_id])).toEqual(
    signals.map(() => ['created', 'led_1']),
  );
  const times = (name: string) => (asked.get(name) ?? 0) - (before.get(name) ?? 0);
  expect(['findNear', 'findIdentities', 'getLead', 'showLead'].map(times)).toEqual([1, 1, 1, 0]);
  const wires = db.prepare<[], string>('SELECT wire FROM signals').pluck().all();
  expect(wires.map((wire) => JSON.parse(wire).lead_id)).toEqual(signals.map(() => 'led_1'));
});

type AnyCall = { [K in keyof Changes]: [K, Parameters<Changes[K]>] }[keyof Changes];

const lease = { now: T0, leaseUntil: T0 + 60_000, leaseToken: 'lease_1', process: 'p1' };
const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'k', fingerprint: 'f' };
const actor = { tenantId: 'ten_a', actor: 'key_1', client: '' };
const failed = { streak: 'add', gone: false, probe: false, at: T0 } as const;

/** A day in an account: its endpoint, signals, their deliveries and outcomes, and a lead and its erasure. */
const DAY: AnyCall[] = [
  ['createTenant', [aTenant('ten_a')]],
  ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_a' }), 10]],
  ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_b' }), 1]],
  [
    'commitSignals',
    [
      [
        aSignal('ten_a', {
          id: 'sig_1',
          events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'], createdAt: T0 })],
        }),
        aSignal('ten_a', { id: 'sig_2', externalId: 'two' }),
        aSignal('ten_a', { id: 'sig_3', externalId: 'two' }),
      ],
    ],
  ],
  ['claimLanes', [{ lanes: [{ endpointId: 'whk_a', limit: 10, knownVersion: 1, held: '{}' }], ...lease }]],
  [
    'recordAttempt',
    [
      {
        ...{
          deliveryId: 'dlv_1',
          endpointId: 'whk_a',
          ...failed,
          next: { status: 'retrying', at: T0 + 5_000 },
        },
        attempt: { id: 'att_1', attempt: 1, startedAt: T0, durationMs: 3, detail: '{"response":null}' },
      },
    ],
  ],
  ['recordDelivered', ['dlv_1', 'att_2', 2, T0 + 5_000, 4, '{"response":null}', 'whk_a']],
  ['bidForKey', [request, { token: 't1', now: T0, expiresAt: T0 + 1_000, process: 'p1', from: null }]],
  [
    'makeKept',
    [
      {
        ...{ request, token: 't1', item: '', name: 'commitLead', by: { ...actor, at: T0 } },
        args: [aNewLead('ten_a', aLead('led_1'), { attach: ['sig_1'] })],
      },
    ],
  ],
  ['answerKey', [request, 't1', { status: 201, location: null, body: '{"data":{"id":"led_1"}}' }]],
  ['pauseEndpoint', ['ten_a', 'whk_a', T0 + 9_000]],
  ['deleteSignal', ['ten_a', 'sig_2', T0 + 10_000]],
];

test('an asynchronous driver runs the same scripts with the same results and rows', async () => {
  const first = openEmpty();
  const second = openSecond();
  const changes = createRunner(first);
  for (const [name, args] of DAY) {
    const result = (changes[name] as (...args: unknown[]) => unknown)(...args);
    expect(await second.run(name, args), name).toEqual(result);
  }
  const rows = allRows(first);
  expect(allRows(second.db)).toEqual(rows);
  expect([rows.signals?.length, rows.attempts?.length, rows.leads?.length]).toEqual([1, 2, 1]);
});

test('concurrent scripts on an asynchronous driver keep their own state', async () => {
  const { db, run } = openSecond();
  await run('createTenant', [aTenant('ten_a')]);
  const names = ['a', 'b', 'c', 'd'];
  const made = await Promise.all(
    names.map((n) =>
      run('commitSignals', [
        [aSignal('ten_a', { id: `sig_${n}`, externalId: n, text: `Post ${n}`, timestamp: T0 })],
      ]),
    ),
  );
  expect(made).toEqual(
    names.map((n) => [{ status: 'created', id: `sig_${n}`, wire: expect.stringContaining(`sig_${n}`) }]),
  );
  expect(db.prepare('SELECT id FROM signals ORDER BY id').pluck().all()).toEqual(
    names.map((n) => `sig_${n}`),
  );
});

test('an error in a statement is thrown in the script', async () => {
  const { run } = openSecond();
  await run('createTenant', [aTenant('ten_a')]);
  await expect(run('createTenant', [aTenant('ten_a')])).rejects.toThrow('UNIQUE');
  await expect(run('makeDone', [{ ...actor, at: T0, name: 'nothing', args: [] }])).rejects.toThrow(
    'There is no change "nothing".',
  );
});
