import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indexedLength, searchedLength } from '../../src/store/search-cost.ts';
import { costOf, ownerOf, shareOf } from '../../src/store/weights.ts';
import { createWriteQueue } from '../../src/store/write-queue.ts';
import { severalTurns } from '../support/turn.ts';

type Change = readonly [name: string, args: readonly unknown[]];

const FLUSH_MS = 1;
const CLAIM_LIMIT = 512;
const CLAIMS_AT_ONCE = 2;

/** The writer's queue as configured by the driver, with commits that take as long as their estimated cost. */
function setUp() {
  const time = { ms: 0 };
  const committed: Change[] = [];
  const queue = createWriteQueue<Change>({
    commit: async (batch) => {
      // Like a thread: by then, callers have sent their next request; on a slow machine they are notified in several turns.
      await severalTurns();
      time.ms += FLUSH_MS + batch.reduce((sum, change) => sum + costOf(change), 0) / 1_000;
      committed.push(...batch);
      return { values: batch, failed: [] };
    },
    ownerOf,
    costOf,
    shareOf,
  });
  return { queue, time, committed };
}

const aPost = (tenantId: string, deliveries: number, n = 0): Change => [
  'commitSignals',
  [
    [
      {
        tenantId,
        n,
        text: 'x'.repeat(300),
        facts: [],
        events: [{ deliveries: Array.from({ length: deliveries }), batched: [] }],
      },
    ],
  ],
];
const aClaim = (lanes: number, limit: number): Change => [
  'claimLanes',
  [{ lanes: Array.from({ length: lanes }, () => ({ limit })) }],
];
const AN_OUTCOME: Change = ['recordDelivered', ['dlv_1', 'att_1', 1, 0, 1, '{}', 'whk_1']];
const A_PROBE: Change = ['writeProbe', [0]];
const ten = (n: number) => `ten_${n}`;

/** Repeats a change for five seconds; `after` gets the wait of each. */
function looping({ queue, time }: Pick<ReturnType<typeof setUp>, 'queue' | 'time'>) {
  return async (change: Change, after = (_ms: number) => {}) => {
    while (time.ms < 5_000) {
      const asked = time.ms;
      await queue.run(change);
      after(time.ms - asked);
    }
  };
}

/** Tenants that post in closed loops, and a dispatcher that claims, sends instantly and records outcomes. */
async function simulate(load: { tenants: number; loops: number; deliveries: number; ms: number }) {
  const { queue, time } = setUp();
  const found = { made: 0, recorded: 0, posts: new Map<string, number>(), longestProbeMs: 0 };
  let unclaimed = 0;
  const running = () => time.ms < load.ms;
  const count = () => {
    if (running()) found.recorded++;
  };

  async function poster(tenantId: string): Promise<void> {
    while (running()) {
      await queue.run(aPost(tenantId, load.deliveries));
      found.posts.set(tenantId, (found.posts.get(tenantId) ?? 0) + 1);
      if (running()) found.made += load.deliveries;
      unclaimed += load.deliveries;
    }
  }
  async function claimer(): Promise<void> {
    while (running()) {
      const claimed = Math.min(CLAIM_LIMIT, unclaimed);
      unclaimed -= claimed;
      await queue.run(aClaim(Math.max(1, Math.ceil(claimed / 10)), Math.min(10, claimed)));
      for (let n = 0; n < claimed; n++) void queue.run(AN_OUTCOME).then(count);
    }
  }
  async function prober(): Promise<void> {
    while (running()) {
      const asked = time.ms;
      await queue.run(A_PROBE);
      found.longestProbeMs = Math.max(found.longestProbeMs, time.ms - asked);
    }
  }
  const loops = Array.from({ length: load.tenants * load.loops }, (_, n) => poster(ten(n % load.tenants)));
  await Promise.all([...loops, ...Array.from({ length: CLAIMS_AT_ONCE }, claimer), prober()]);
  return found;
}

describe('the writer under many tenants', () => {
  test.each([
    { tenants: 1, loops: 8, deliveries: 10, ms: 1_000 },
    { tenants: 16, loops: 4, deliveries: 5, ms: 1_000 },
    { tenants: 64, loops: 8, deliveries: 10, ms: 2_000 },
    { tenants: 100, loops: 2, deliveries: 1, ms: 2_000 },
    { tenants: 200, loops: 4, deliveries: 20, ms: 4_000 },
  ])('outcomes keep pace with posts: %j', async (load) => {
    const { made, recorded, posts, longestProbeMs } = await simulate(load);
    expect(made).toBeGreaterThan(0);
    // In progress at any time: two claims, and the outcomes of two.
    expect(recorded).toBeGreaterThan(0.9 * made - 4 * CLAIM_LIMIT);
    expect(posts.size).toBe(load.tenants);
    const counts = [...posts.values()];
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2 * load.loops);
    expect(longestProbeMs).toBeLessThan(150);
  });

  test('makes all changes, in order per owner, and no owner waits for more than a fair share', async () => {
    const owners = fc.integer({ min: 1, max: 30 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(owners, fc.integer({ min: 0, max: 300 })), { minLength: 1, maxLength: 150 }),
        async (asked) => {
          const { queue, committed } = setUp();
          const changes = asked.map(([owner, deliveries], n) => aPost(ten(owner), deliveries, n));
          await Promise.all(changes.map((change) => queue.run(change)));

          expect(new Set(committed)).toEqual(new Set(changes));
          const most = Math.max(...changes.map(costOf));
          for (const owner of new Set(changes.map(ownerOf))) {
            const mine = changes.filter((change) => ownerOf(change) === owner);
            expect(committed.filter((change) => ownerOf(change) === owner)).toEqual(mine);
            // Before its first change, every other owner had at most its cost, and one more change.
            const first = mine[0];
            if (first === undefined) continue;
            const before = new Map<string, number>();
            for (const change of committed.slice(0, committed.indexOf(first))) {
              before.set(ownerOf(change), (before.get(ownerOf(change)) ?? 0) + costOf(change));
            }
            for (const cost of before.values()) expect(cost).toBeLessThanOrEqual(costOf(first) + most + 500);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('makes a claim that costs a whole commit, and later changes', async () => {
    const { queue, committed } = setUp();
    const changes = [aClaim(512, 1), aPost(ten(1), 10), AN_OUTCOME, A_PROBE];
    await Promise.all(changes.map((change) => queue.run(change)));
    expect(new Set(committed)).toEqual(new Set(changes));
  });

  test('consecutive claims that cost a whole commit each leave tenants their turns', async () => {
    const { queue, time } = setUp();
    let posts = 0;
    const loop = async (change: Change, after = () => {}) => {
      while (time.ms < 2_000) await queue.run(change).then(after);
    };
    await Promise.all([
      ...Array.from({ length: CLAIMS_AT_ONCE }, () => loop(aClaim(512, 1))),
      ...Array.from({ length: 16 }, (_, n) => loop(aPost(ten(n), 1), () => posts++)),
    ]);
    // At least 7.5 ms of each commit, at 0.67 ms per post, next to a claim of 32.
    expect(posts).toBeGreaterThan(400);
  });

  test('a tenant with 3,000 endpoints is served, and others wait for at most one of its posts', async () => {
    const { queue, time } = setUp();
    const waits: number[] = [];
    let wide = 0;
    const loop = looping({ queue, time });
    await Promise.all([
      ...Array.from({ length: 8 }, () => loop(aPost(ten(0), 3_000), () => wide++)),
      ...Array.from({ length: 4 }, (_, n) => loop(aPost(ten(n + 1), 1), (ms) => waits.push(ms))),
    ]);
    const [one, few] = [costOf(aPost(ten(0), 3_000)) / 1_000, 10];
    expect(Math.max(...waits)).toBeLessThan(one + few);
    expect(wide).toBeGreaterThan((0.8 * 5_000) / (one + few));
  });

  test('next to sixteen batches of replies to two thousand endpoints, a post waits for two commits', async () => {
    const { queue, time } = setUp();
    const waits: number[] = [];
    const loop = looping({ queue, time });
    await Promise.all([
      ...Array.from({ length: 16 }, () => loop(['storeRemainder', [{ tenantId: ten(0) }]])),
      ...Array.from({ length: CLAIMS_AT_ONCE }, () => loop(aClaim(170, 1))),
      ...Array.from({ length: 170 }, () => loop(AN_OUTCOME)),
      loop(aPost(ten(1), 1), (ms) => waits.push(ms)),
    ]);
    expect(waits.length).toBeGreaterThan(50);
    expect(Math.max(...waits)).toBeLessThan(60);
  });

  test.each<[string, (deliveries: unknown[]) => Change]>([
    [
      'a post',
      (deliveries) => [
        'commitSignals',
        [[{ tenantId: 'ten_1', text: '', facts: [], events: [{ deliveries, batched: [] }] }]],
      ],
    ],
    [
      'a lead',
      (deliveries) => [
        'commitLead',
        [{ tenantId: 'ten_1', newSignals: [], attach: [], events: [{ deliveries, batched: [] }] }],
      ],
    ],
    [
      'notices',
      (deliveries) => ['commitNotices', [{ tenantId: 'ten_1', events: [{ deliveries, batched: [] }] }]],
    ],
    ['a new campaign', (deliveries) => ['createCampaign', [{}, [{ deliveries, batched: [] }]]]],
    ['a campaign', (deliveries) => ['updateCampaign', [{}, 1, [{ deliveries, batched: [] }]]]],
    [
      'replies',
      (deliveries) => [
        'recordCampaignEvents',
        [{}, [{ events: [] }, { events: [{ deliveries, batched: [] }] }]],
      ],
    ],
    ['a backfill', (items) => ['commitBackfill', [{ tenantId: 'ten_1', items }]]],
    ['a replay', ({ length: limit }) => ['replayRange', [{ limit }]]],
    ['a replay of a list', (ids) => ['replayList', [{ ids }]]],
    ['a resumption', ({ length: limit }) => ['resumeEndpoint', [{ limit }]]],
    ['a part of the retries that move with the clock', ({ length: limit }) => ['shiftDue', [{ limit }]]],
    [
      'an event to endpoints with batching',
      (batched) => [
        'commitSignals',
        [[{ tenantId: 'ten_1', text: '', facts: [], events: [{ deliveries: [], batched }] }]],
      ],
    ],
  ])('%s costs more, the more deliveries it stores or makes due', (_, change) => {
    const costWith = (length: number) => costOf(change(Array.from({ length }, () => '')));
    expect(costWith(2_000) - costWith(0)).toBeGreaterThanOrEqual(20_000);
  });

  test.each<[string, Change, string]>([
    ['a post', aPost('ten_1', 1), 'ten_1'],
    [
      'a part of a source that is read',
      ['addRunSignals', [{ sourceId: 'src_1' }, [{ tenantId: 'ten_1' }]]],
      'ten_1',
    ],
    ['the end of its reading', ['finishSourceRun', [{ signals: [{ tenantId: 'ten_1' }] }]], 'ten_1'],
    ['the end of a reading that found nothing', ['finishSourceRun', [{ signals: [] }]], ''],
    ['a claim', aClaim(1, 1), 'dispatcher'],
    ['an outcome', AN_OUTCOME, 'dispatcher'],
    ['a failure', ['recordAttempt', [{ deliveryId: 'dlv_1' }]], 'dispatcher'],
    ['a probe', A_PROBE, ''],
  ])("%s is scheduled as its owner's", (_, change, owner) => {
    expect(ownerOf(change)).toBe(owner);
  });
});

test.each([
  ['nothing', '', 0],
  ['words of usual length', 'Looking for a booking tool', 26],
  ['the shortest words', 'a b c d', 4 * 4],
  ['words between signs', 'a.b-c', 3 * 4],
  ['Chinese', '\u6f22\u5b57 crm', 3 * 4],
  ['Korean, which has spaces', '\uc608\uc57d \ub3c4\uad6c\ub97c', 8],
])('%s is indexed as long as a usual text of so many characters', (_, text, length) => {
  expect(indexedLength(text)).toBe(length);
});

test('the facts of a signal are indexed, too', () => {
  expect(searchedLength({ text: 'a booking tool', facts: ['Jane Doe', '\u6f22\u5b57'] })).toBe(
    14 + 8 + 2 * 4,
  );
});
