import { LRUCache } from 'lru-cache';
import { addAll } from '../lib/lists.ts';
import { shared, standInLine } from '../lib/yielding.ts';
import type { Page, PageRequest, Position } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ListedEndpoint } from '../model/webhook.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { EndpointStore, Receiver } from './endpoint-store.ts';
import type { ProfileStore } from './profile-store.ts';
import type { SourceStore } from './source-store.ts';

/** Of long profiles, 400 KB: ten of 665 KB, full of escapes, took 160 ms. */
const PROFILES_AT_ONCE = 10;
/** About 2 ms; of large payload formats, 400 KB. */
const ENDPOINTS_AT_ONCE = 50;
/** With the longest steps and descriptions, 4 ms; three hundred at once took 55. */
const CAMPAIGNS_AT_ONCE = 25;
/** Of the longest settings, 5 ms. */
const SOURCES_AT_ONCE = 25;
/** About 2 ms; ten thousand at once took 100. Of large payload formats, 400 KB. */
const RECEIVERS_AT_ONCE = 100;

/** The size of the cached lists of receivers, of about ten thousand endpoints, in bytes of their settings. */
const MAX_LISTED_BYTES = 8 * 1024 * 1024;
/** Without a payload format. */
const RECEIVER_BYTES = 800;

/** Like `pageProfiles`, in parts. */
export function pageProfilesInParts(read: ProfileStore['pageProfiles']): ProfileStore['pageProfiles'] {
  return inParts(read, PROFILES_AT_ONCE);
}

/** Like `pageEndpoints`, in parts. */
export function pageEndpointsInParts(read: EndpointStore['pageEndpoints']): EndpointStore['pageEndpoints'] {
  return inParts(read, ENDPOINTS_AT_ONCE);
}

/** Like `listCampaigns`, in parts. */
export function listCampaignsInParts(read: CampaignStore['listCampaigns']): CampaignStore['listCampaigns'] {
  return inParts(read, CAMPAIGNS_AT_ONCE);
}

/** Like `pageSources`, in parts. */
export function pageSourcesInParts(read: SourceStore['pageSources']): SourceStore['pageSources'] {
  return inParts(read, SOURCES_AT_ONCE);
}

/** Reads a page as several smaller ones, yielding between them. */
function inParts<T, Q extends PageRequest>(read: ReadPage<T, Q>, atOnce: number): ReadPage<T, Q> {
  return async (tenantId, query) => {
    const { limit } = query;
    const page = await read(tenantId, { ...query, limit: Math.min(limit, atOnce) });
    while (page.rows.length < limit && page.last !== null) {
      await standInLine();
      const next = Math.min(limit - page.rows.length, atOnce);
      const more = await read(tenantId, { ...query, limit: next, after: page.last });
      addAll(page.rows, more.rows);
      page.last = more.last;
    }
    return page;
  };
}

type ReadPage<T, Q = PageRequest> = (tenantId: string, query: Q) => Promise<Page<T>>;

/** All profiles of a tenant: a thousand long ones at once took 0.8 s, and a list of them takes up to 150 MB. */
export function createProfileList(
  reads: Pick<ProfileStore, 'pageProfiles' | 'profileStamp'>,
): ProfileStore['listProfiles'] {
  return createPagedList<IcpProfile>(reads.pageProfiles, reads.profileStamp, PROFILES_AT_ONCE);
}

/** All endpoints of a tenant, of which there is no limit. */
export function createEndpointList(
  reads: Pick<EndpointStore, 'pageEndpoints' | 'endpointStamp'>,
): EndpointStore['listEndpoints'] {
  return createPagedList<ListedEndpoint>(reads.pageEndpoints, reads.endpointStamp, ENDPOINTS_AT_ONCE);
}

/** All endpoints of a tenant, prepared for routing: to look at the version of each of two thousand takes 2 ms per event. */
export function createReceiverList(
  reads: Pick<EndpointStore, 'pageReceivers' | 'receiverStamp'>,
): EndpointStore['listReceivers'] {
  const lists = new LRUCache<string, { stamp: string; rows: Receiver[] }>({
    maxSize: MAX_LISTED_BYTES,
    sizeCalculation: ({ rows }) =>
      rows.reduce((sum, { shape }) => sum + RECEIVER_BYTES + (shape?.formatBytes ?? 0), 1),
  });
  return createPagedList<Receiver>(reads.pageReceivers, reads.receiverStamp, RECEIVERS_AT_ONCE, lists);
}

/**
 * Lists all rows of a tenant by pages, yielding between them. Concurrent calls share one list, as long as its stamp does not
 * change; if it does, they share the next one: with a list for each stamp, 120 screens of a tenant whose profiles changed took 0.8 GB. With
 * `kept`, it is cached until then. The stamp is read first: after a commit in between, the rows are newer, never older.
 */
function createPagedList<T>(
  readPage: ReadPage<T>,
  stampOf: (tenantId: string) => Promise<string>,
  atOnce: number,
  kept?: LRUCache<string, { stamp: string; rows: T[] }>,
): (tenantId: string) => Promise<T[]> {
  /** The list in progress of each tenant, and the one that follows it. */
  const underWay = new Map<string, { stamp: string; list: Promise<T[]>; next: Promise<T[]> | null }>();

  async function list(tenantId: string): Promise<T[]> {
    const all: T[] = [];
    let after: Position | null = null;
    do {
      if (after !== null) await standInLine();
      const page: Page<T> = await readPage(tenantId, { limit: atOnce, after });
      addAll(all, page.rows);
      after = page.last;
    } while (after !== null);
    return all;
  }

  function begin(tenantId: string, stamp: string): Promise<T[]> {
    const begun = { stamp, list: list(tenantId), next: null };
    underWay.set(tenantId, begun);
    const end = () => {
      if (underWay.get(tenantId) === begun && begun.next === null) underWay.delete(tenantId);
    };
    begun.list.then(end, end);
    return begun.list;
  }

  async function beginAfter(tenantId: string, previous: Promise<unknown>): Promise<T[]> {
    await previous.catch(() => {});
    const stamp = await stampOf(tenantId).catch((error: unknown) => {
      underWay.delete(tenantId);
      throw error;
    });
    const rows = await begin(tenantId, stamp);
    kept?.set(tenantId, { stamp, rows });
    return rows;
  }

  /** A list that contains everything that was stored before `stamp` was read. */
  async function listSince(tenantId: string, stamp: string): Promise<T[]> {
    const running = underWay.get(tenantId);
    if (running !== undefined && running.stamp !== stamp) {
      running.next ??= beginAfter(tenantId, running.list);
      return shared(running.next);
    }
    const rows = await shared(running?.list ?? begin(tenantId, stamp));
    kept?.set(tenantId, { stamp, rows });
    return rows;
  }

  return async (tenantId) => {
    const stamp = await stampOf(tenantId);
    const known = kept?.get(tenantId);
    return known?.stamp === stamp ? known.rows : listSince(tenantId, stamp);
  };
}
