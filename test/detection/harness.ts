import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createDocuments, type Documents } from '../../src/detection/documents/documents.ts';
import { createPoller, type Poller } from '../../src/detection/poller.ts';
import { createSourcePreviews } from '../../src/detection/preview.ts';
import { type ReadingTask, SITES, sitesWith } from '../../src/detection/reader.ts';
import { createWeb } from '../../src/detection/web.ts';
import { createIds } from '../../src/lib/ids.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSecretBox } from '../../src/lib/secret-box.ts';
import { NO_SETTINGS } from '../../src/model/constants.ts';
import type { Source, SourceSettings } from '../../src/model/source.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import type { SourcePreview } from '../../src/signals/source-management.ts';
import type { Store } from '../../src/store/store.ts';
import type { Lookup } from '../../src/webhooks/targets.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import { type Answer, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { aSource } from '../support/sources.ts';
import { aTenant, openTestStore } from '../support/store.ts';

/** A poller with an in-memory store, a manual clock, and a real site on loopback. */
export interface Harness {
  store: Store;
  clock: ManualClock;
  poller: Poller;
  /** The site of the sources; responds with 404 until it is set. */
  site: Receiver;
  /** Its URL, without a path. */
  origin: string;
  /** Responses by path without query, `*` for all other paths; robots.txt is 404 unless set. */
  pages: Record<string, Answer>;
  nudged: { endpointId: string; tenantId: string }[];
  /** Creates a source of tenant `ten_a` that is due immediately. */
  add(overrides?: Partial<Source>): Promise<string>;
  /** Advances time and waits until `runs` more runs have ended. */
  pass(ms: number, runs?: number): Promise<void>;
  /** Waits until `runs` runs have ended in total. */
  ended(runs: number): Promise<void>;
  source(id: string): Promise<Source>;
  /** Texts of the created signals, oldest first. */
  texts(): Promise<string[]>;
  /** Previews a place for a profile of tenant `ten_a`. */
  preview(
    profileId: string,
    place: Pick<Source, 'kind' | 'settings'>,
    tenantId?: string,
  ): Promise<SourcePreview>;
  /** Requests other than for robots.txt. */
  asked(): { path: string; headers: Record<string, unknown> }[];
}

/** Encrypts the credentials of sources in tests. */
export const SECRET_BOX = createSecretBox(Buffer.alloc(32, 7), systemRandom);

/** One thread for all tests in a file, because starting it takes longer than most of them. */
export const DOCUMENTS = createDocuments();

/** Parses documents for a reader that is called outside a run. */
export const parse: ReadingTask['parse'] = (parser, { body, headers, url }, args) =>
  DOCUMENTS.parse(parser, { body, contentType: headers['content-type'] ?? '', url }, args, 'ten_a');

const LOOPBACK = [parseCidr('127.0.0.0/8')].filter((cidr) => cidr !== null);

export async function createHarness(
  options: {
    allow?: boolean;
    lookup?: Lookup;
    wrap?: (store: Store) => Store;
    /** Used instead of a parser thread. */
    documents?: Documents;
    /** Told each ID that is made. */
    idMade?: (id: string) => void;
    /** Used instead of an in-memory store. */
    opened?: { store: Store; clock: ManualClock };
  } = {},
): Promise<Harness> {
  const { store: inner, clock } = options.opened ?? (await openTestStore());
  await inner.createTenant(aTenant('ten_a'));
  const pages: Record<string, Answer> = {};
  const site = await startReceiver((response, request, socket) => {
    const path = request.path.split('?')[0] ?? '';
    const others = path === '/robots.txt' ? undefined : pages['*'];
    (pages[path] ?? others ?? status(404))(response, request, socket);
  });
  const origin = `http://127.0.0.1:${site.port}`;
  let count = 0;
  const waiting = new Set<{ runs: number; done: () => void }>();
  const wrapped = options.wrap?.(inner) ?? inner;
  const store: Store = {
    ...wrapped,
    async finishSourceRun(run) {
      try {
        return await wrapped.finishSourceRun(run);
      } finally {
        count++;
        for (const waiter of waiting) if (count >= waiter.runs) waiter.done();
      }
    },
  };
  const makeId = createIds(clock, systemRandom);
  const deps = {
    store,
    matchers: createMatchers(store),
    clock,
    newId: (prefix: Parameters<typeof makeId>[0]) => {
      const id = makeId(prefix);
      options.idMade?.(id);
      return id;
    },
    baseUrl: 'https://signals.example.com',
    secretBox: SECRET_BOX,
  };
  const { documents = DOCUMENTS } = options;
  const web = createWeb({
    ...deps,
    documents,
    keepHold: inner.holdHost,
    allowTargets: createAddressSet(options.allow === false ? [] : LOOPBACK),
    ...(options.lookup && { lookup: options.lookup }),
  });
  const nudged: Harness['nudged'] = [];
  inner.onCommitted(({ due }) => void nudged.push(...due));
  const sites = sitesWith(Object.fromEntries(Object.keys(SITES).map((kind) => [kind, origin])));
  const previews = createSourcePreviews({ ...deps, web, documents, sites });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const poller = createPoller({
    ...deps,
    web,
    documents,
    sites,
    log,
  });
  onTestFinished(async () => {
    await poller.stop();
    await site.close();
    await inner.close();
  });

  function ended(runs: number): Promise<void> {
    if (count >= runs) return Promise.resolve();
    return new Promise((resolve) => waiting.add({ runs, done: resolve }));
  }

  return {
    store: inner,
    clock,
    poller,
    site,
    origin,
    pages,
    nudged,
    ended,
    async add(overrides = {}) {
      const source = aSource({
        settings: settings({ url: `${origin}/feed` }),
        nextPollAt: clock.now(),
        ...overrides,
      });
      await inner.createSource(source, 100);
      return source.id;
    },
    async pass(ms, runs = 1) {
      const until = count + runs;
      await nextTurn();
      clock.advance(ms);
      poller.wake();
      await ended(until);
    },
    async source(id) {
      const found = await inner.getSource('ten_a', id);
      if (found === null) throw new Error(`no source ${id}`);
      return found;
    },
    async texts() {
      const posts = await inner.listPosts('ten_a', 100);
      return posts.map(({ text }) => text).reverse();
    },
    preview: (profileId, place, tenantId = 'ten_a') => previews(tenantId, profileId, place),
    asked: () => site.requests.filter(({ path }) => path !== '/robots.txt'),
  };
}

/** Settings of a kind; those it does not have are null. */
export function settings(given: Partial<SourceSettings>): SourceSettings {
  return { ...NO_SETTINGS, ...given };
}

/** A post about `subject` that is hot for the default profile. */
export const wanting = (subject: string): string =>
  `We are looking for a new ${subject}, any recommendations? Budget approved, need to buy this month.`;

/** An RSS feed with items, each `[guid, text]`. */
export function rss(items: [guid: string, text: string][]): string {
  const xml = items.map(
    ([guid, text]) =>
      `<item><guid>${guid}</guid><title>Post</title><description>${text}</description></item>`,
  );
  return `<rss version="2.0"><channel><title>t</title>${xml.join('')}</channel></rss>`;
}
