import { NO_SETTINGS } from '../../src/model/constants.ts';
import type { Source } from '../../src/model/source.ts';
import type { ClaimedSource, SourceRun } from '../../src/store/source-store.ts';
import type { Store } from '../../src/store/store.ts';
import { T0 } from './store.ts';

/** An active feed of tenant `ten_a` that is due immediately. */
export function aSource(overrides: Partial<Source> = {}): Source {
  const id = overrides.id ?? 'src_1';
  return {
    id,
    tenantId: 'ten_a',
    kind: 'rss',
    name: `Source ${id}`,
    settings: { ...NO_SETTINGS, url: 'https://feeds.example.com/all.xml' },
    secrets: {},
    profileIds: [],
    intervalSeconds: 900,
    maxAgeDays: 7,
    status: 'active',
    nextPollAt: T0,
    lastRunAt: null,
    lastSuccessAt: null,
    lastError: null,
    failures: 0,
    failingSince: null,
    quota: null,
    itemsSeen: 0,
    itemsMatched: 0,
    itemsRelevant: 0,
    signalsMade: 0,
    createdAt: T0,
    updatedAt: T0,
    version: 1,
    ...overrides,
  };
}

/** A successful run of `claimed`, at `T0`, with the next one due 15 minutes later. */
export function aRun(claimed: ClaimedSource, overrides: Partial<SourceRun> = {}): SourceRun {
  return {
    sourceId: claimed.source.id,
    token: claimed.token,
    startedAt: T0,
    now: T0,
    claimedPollAt: claimed.source.nextPollAt,
    nextPollAt: T0 + 900_000,
    notBefore: 0,
    error: null,
    position: null,
    itemsSeen: 0,
    itemsMatched: 0,
    signals: [],
    signalsAdded: 0,
    quota: null,
    mail: null,
    ...overrides,
  };
}

/** Claims sources due at `now`, the longest due one of each tenant and host; the token is `token`. */
export async function claimAt(
  store: Store,
  now: number,
  token = 'run_1',
  limit = 10,
): Promise<ClaimedSource[]> {
  const ids = (await store.dueSources(now)).slice(0, limit).map(({ id }) => id);
  return store.claimSources({ now, leaseUntil: now + 60_000, ids, token });
}
