import { Pool } from 'undici';
import { TEST_CA } from '../../test/dispatcher/tls-fixture.ts';
import { percentile } from '../report.ts';
import { type Measured, peakRssMiB, type Round, samplePost, WARM_UP } from './setting.ts';

// The floor: a plain undici loop that posts bodies of the same size at the same concurrency.
const pools = new Map<string, Pool>();

process.on('message', (round: Round) => {
  void run(round).then((measured) => process.send?.(measured));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function run(round: Round): Promise<Measured> {
  await post(round, WARM_UP, []);
  const durations: number[] = [];
  const started = performance.now();
  await post(round, round.deliveries, durations);
  const seconds = (performance.now() - started) / 1000;
  return {
    perSecond: round.deliveries / seconds,
    p50Ms: percentile(durations, 0.5),
    p99Ms: percentile(durations, 0.99),
    peakRssMiB: peakRssMiB(),
  };
}

async function post({ urls, concurrency }: Round, count: number, durations: number[]): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < count) {
      const n = next++;
      const url = new URL(urls[n % urls.length] ?? '');
      const started = performance.now();
      const { body } = await poolOf(url.origin).request({
        method: 'POST',
        path: url.pathname,
        headers: { 'content-type': 'application/json' },
        body: bodyOf(n),
      });
      await body.dump();
      durations.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

function bodyOf(n: number): string {
  const { text, url } = samplePost(n);
  return JSON.stringify({
    signal_id: `sig_${String(n).padStart(25, '0')}`,
    signal_type: 'intent_post',
    classification: 'hot',
    icp_score: 93,
    timestamp: '2026-01-01T00:00:00.000Z',
    prospect: { name: '', title: '', email: '', linkedin_url: '' },
    company: { name: '', domain: '', industry: '', headcount: '', location: '' },
    platform: { name: 'forum', post_url: url, posted_at: '' },
    excerpt: text,
    icp_profile_name: 'Default',
    profile_url: 'http://localhost:3000/dashboard/signals/sig_0000000000000000000000000',
    signature: '0'.repeat(64),
  });
}

function poolOf(origin: string): Pool {
  let pool = pools.get(origin);
  if (pool === undefined) {
    pool = new Pool(origin, { connections: 256, connect: { ca: TEST_CA } });
    pools.set(origin, pool);
  }
  return pool;
}
