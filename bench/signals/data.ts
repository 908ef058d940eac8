import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newKey } from '../../src/accounts/keys.ts';
import { openDataFolder } from '../../src/data-folder.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import { SCOPES } from '../../src/model/key.ts';
import { observedPostSchema, type Signal } from '../../src/model/signal.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import { planPosts } from '../../src/signals/plan-posts.ts';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';
import { addRows } from '../dashboard/rows.ts';
import { createBulkWriter } from './bulk.ts';
import { createPosts } from './posts.ts';

/** `BENCH_SIGNALS` sets a smaller number for development: published figures are measured with a million. */
export const SIGNALS = Number(process.env.BENCH_SIGNALS ?? 1_000_000);
/** `BENCH_TENANTS=1` assigns all of them to one tenant. */
export const TENANTS = Number(process.env.BENCH_TENANTS ?? 10);
const TEMPLATES = 4_000;
const COMMIT_SIGNALS = 5_000;
/** The time between two signals over all tenants: a million of them span four months. */
const SPACING_MS = 10_000;
/** A word that occurs in ten signals of a tenant, one in ten thousand. */
export const RARE_WORD = 'quillonby';
const RARE_EVERY = 100_000;
/** One signal of a tenant in this many is hot, or warm. */
const HOT_EVERY = 50;
const WARM_EVERY = 10;

/** A folder with a database of a million signals, and the parameters of requests for its first tenant. */
export interface BenchData {
  dataDir: string;
  tenantId: string;
  apiKey: string;
  profileId: string;
  /** A company mentioned in some of its signals. */
  domain: string;
  /** The time of its newest signal, Unix milliseconds. */
  newestAt: number;
}

/** Returns the folder, and creates it if there is none for the current version, which takes some minutes. */
export async function prepareData(): Promise<BenchData> {
  const dataDir = join(tmpdir(), `signalpost-bench-signals-${versionOf()}`);
  const about = join(dataDir, 'about.json');
  if (!existsSync(about)) {
    const started = performance.now();
    console.error(
      `Creating ${SIGNALS.toLocaleString('en')} signals in ${dataDir}, which is kept for the next run.`,
    );
    rmSync(dataDir, { recursive: true, force: true });
    mkdirSync(dataDir, { recursive: true });
    const data = await makeData(dataDir);
    writeFileSync(`${about}.new`, JSON.stringify(data));
    renameSync(`${about}.new`, about);
    console.error(`Created in ${Math.round((performance.now() - started) / 1000)} s.`);
  }
  return JSON.parse(readFileSync(about, 'utf8')) as BenchData;
}

/** Changes with the schema, and with all code that determines the rows. */
function versionOf(): string {
  const hash = createHash('sha256').update(`${SIGNALS} ${TENANTS}`);
  const root = join(import.meta.dirname, '../..');
  const migrations = join(root, 'src/store/sqlite/migrations');
  const files = [
    ...readdirSync(migrations)
      .sort()
      .map((file) => join(migrations, file)),
    ...[
      'src/rules/words.ts',
      'src/store/sqlite/signal-index.ts',
      'src/signals/plan-posts.ts',
      'bench/signals/posts.ts',
      'bench/signals/data.ts',
      'bench/signals/bulk.ts',
      'bench/dashboard/rows.ts',
    ].map((file) => join(root, file)),
  ];
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

async function makeData(dataDir: string): Promise<BenchData> {
  const { file, keyProof, masterKey } = openDataFolder(
    { dataDir, databaseUrl: null, secretsKey: null },
    systemRandom,
  );
  const store = await openSqliteStore({ file, clock: systemClock, keyProof });
  const tenants = await makeTenants(store);
  const templates = await makeTemplates(store, tenants[0]?.tenantId ?? '');
  await store.close();

  const db = openDatabase(file);
  migrate(db);
  // After a crash, everything is created again, so there is no journal and no waiting for the disk.
  db.pragma('journal_mode = MEMORY');
  db.pragma('synchronous = OFF');
  db.pragma(`cache_size = -${512 * 1024}`);
  const writer = createBulkWriter(db);
  const newId = createIds(systemClock, systemRandom);
  const newestAt = systemClock.now() - 3_600_000;
  for (let from = 0; from < SIGNALS; from += COMMIT_SIGNALS) {
    const batch = Array.from({ length: COMMIT_SIGNALS }, (_, i) => {
      const n = from + i;
      const { tenantId, profileId } = tenants[n % TENANTS] ?? { tenantId: '', profileId: '' };
      const timestamp = newestAt - (SIGNALS - n) * SPACING_MS;
      return copyOf(templates[(Math.floor(n / TENANTS) * 7_919) % TEMPLATES] as NewSignal, {
        n,
        tenantId,
        profileId,
        timestamp,
        newId,
      });
    });
    writer.add(batch);
  }
  writer.end();
  const tenant = tenants[Math.floor(TENANTS / 2)];
  if (tenant === undefined) throw new Error('too few tenants');
  addRows(db, tenant.tenantId, createSecretBox(masterKey, systemRandom));
  db.pragma('journal_mode = WAL');
  db.close();
  const domain = templates.find(({ companyDomain }) => companyDomain !== '')?.companyDomain ?? '';
  return { dataDir, newestAt, domain, ...tenant };
}

async function makeTenants(store: Store) {
  const newId = createIds(systemClock, systemRandom);
  const deps = { clock: systemClock, random: systemRandom, newId };
  const now = systemClock.now();
  const made = [];
  for (let i = 0; i < TENANTS; i++) {
    const tenant = {
      id: newId('ten'),
      name: `Tenant ${i}`,
      plan: 'enterprise' as const,
      trialEndsAt: null,
      createdAt: now,
    };
    const owner = {
      id: newId('usr'),
      tenantId: tenant.id,
      email: `o${i}@example.com`,
      setupTokenHash: `${i}`,
      setupExpiresAt: 0,
      createdAt: now,
    };
    const { key, apiKey } = newKey(deps, {
      tenantId: tenant.id,
      name: 'Bench',
      scopes: [...SCOPES],
      rateLimit: 1_000_000_000,
    });
    const profile = defaultProfile(newId('icp'), tenant.id, now);
    await store.createTenant({ tenant, owner, profile, key });
    made.push({ tenantId: tenant.id, profileId: profile.id, apiKey });
  }
  return made;
}

/** Posts scored like incoming ones; the million are copies of them, because scoring each would take minutes. */
async function makeTemplates(store: Store, tenantId: string): Promise<NewSignal[]> {
  const deps = {
    store,
    matchers: createMatchers(store),
    clock: systemClock,
    newId: createIds(systemClock, systemRandom),
    baseUrl: 'http://localhost:3000',
  };
  const makePost = createPosts(1);
  const posts = Array.from({ length: TEMPLATES }, (_, n) => observedPostSchema.parse(makePost(n)));
  const planned = await planPosts(deps, tenantId, posts);
  const signals = planned.flatMap((plan) => plan.signals);
  return await Promise.all(
    signals.map(async ({ route, ...signal }) => ({ ...signal, events: await route() })),
  );
}

function copyOf(
  template: NewSignal,
  at: {
    n: number;
    tenantId: string;
    profileId: string;
    timestamp: number;
    newId: (prefix: string) => string;
  },
): NewSignal {
  const { n, tenantId, profileId, timestamp } = at;
  const id = at.newId('sig');
  const externalId = `copy-${n}`;
  const postUrl = `https://posts.example/copy/${n}`;
  const wire = JSON.parse(template.wire) as Signal;
  const text = n % RARE_EVERY < TENANTS ? `${template.text} ${RARE_WORD}` : template.text;
  const { score, classification } = scoreOf(Math.floor(n / TENANTS), template);
  return {
    ...template,
    ...{ score, classification },
    id,
    tenantId,
    profileId,
    externalId,
    canonicalUrl: postUrl,
    timestamp,
    text,
    events: [],
    wire: JSON.stringify({
      ...wire,
      signal_id: id,
      ...{ icp_score: score, classification },
      timestamp: new Date(timestamp).toISOString(),
      platform: { ...wire.platform, post_url: postUrl },
      excerpt: text,
      profile_url: `http://localhost:3000/dashboard/signals/${id}`,
      icp_profile_id: profileId,
      external_id: externalId,
    }),
  };
}

/** The generated posts are cold: some copies are marked as hot or warm, regardless of their text. */
function scoreOf(place: number, { score, classification }: NewSignal) {
  if (place % HOT_EVERY === 0) return { score: 70 + (place % 31), classification: 'hot' as const };
  if (place % WARM_EVERY === 0) return { score: 40 + (place % 30), classification: 'warm' as const };
  return { score, classification };
}
