import { type Logger, pino } from 'pino';
import { createFeedbackLinks, type FeedbackLinks } from './accounts/links.ts';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import { createDocuments } from './detection/documents/documents.ts';
import { createPoller } from './detection/poller.ts';
import { createSourcePreviews } from './detection/preview.ts';
import { sitesWith } from './detection/reader.ts';
import { createRefusals, createWeb } from './detection/web.ts';
import { createDispatcher } from './dispatcher/dispatcher.ts';
import { listen } from './http/connections.ts';
import type { Enrichment } from './leads/changes.ts';
import { createEnrichment, createProvider } from './leads/enrichment.ts';
import { continueErasures } from './leads/erase-lead.ts';
import { type Clock, systemClock, toIso } from './lib/clock.ts';
import { type Cursors, createCursors } from './lib/cursor.ts';
import { createIds, type NewId } from './lib/ids.ts';
import { type AddressSet, createAddressSet } from './lib/network.ts';
import { PACKAGE } from './lib/package.ts';
import { createPeriodic, type Periodic, type PeriodicJob } from './lib/periodic.ts';
import { type Random, systemRandom } from './lib/random.ts';
import { createSecretBox, createSeededRandom, type SecretBox, type SeededRandom } from './lib/secret-box.ts';
import { createLogDestination } from './log-destination.ts';
import { storageFaultOf } from './model/errors.ts';
import { beginWork } from './operation/begin-work.ts';
import { openWhenReachable } from './operation/standby.ts';
import type { Tracing } from './operation/tracing.ts';
import { type Encoder, openEncoder } from './signals/encoder/encoder.ts';
import { createIntakeTally, type IntakeTally } from './signals/intake-tally.ts';
import { runJobs } from './signals/jobs.ts';
import { createLearner, type Learner } from './signals/learner.ts';
import { createMatchers, type Matchers } from './signals/matchers.ts';
import { prepareKnownOffers } from './signals/offer.ts';
import { MODEL_VERSION } from './signals/score.ts';
import { createSuggester, type Suggester } from './signals/suggestions.ts';
import type { SiteContent } from './site/content/site-content.ts';
import { openStore } from './store/driver.ts';
import { MOST_SKEW_MS } from './store/figures.ts';
import type { StorageChange } from './store/storage-watch.ts';
import type { OpenedStore } from './store/store.ts';
import { housekeepingJobs } from './webhooks/housekeeping.ts';
import { createLookup } from './webhooks/target-lookup.ts';
import type { Lookup } from './webhooks/targets.ts';

/** How long attempts in progress may take to complete during shutdown (docs/configuration.md, "Stopping"). */
export const DRAIN_MS = 30_000;

/** Everything that a process opens once and passes to its parts: no other state exists. */
export interface Runtime {
  config: Config;
  clock: Clock;
  random: Random;
  newId: NewId;
  logger: Logger;
  store: OpenedStore;
  matchers: Matchers;
  suggester: Suggester;
  /** Null without the encoder: nothing is learned. */
  learner: Learner | null;
  intakeTally: IntakeTally;
  /** Null: posts are scored by words alone. */
  encoder: Encoder | null;
  secretBox: SecretBox;
  cursors: Cursors;
  feedbackLinks: FeedbackLinks;
  seededRandom: SeededRandom;
  allowTargets: AddressSet;
  lookup: Lookup;
  /** Closes the store; the runtime must not be used afterwards. */
  close(): Promise<void>;
}

export interface RuntimeOptions {
  logger?: Logger;
  /**
   * Writes to the store in a separate thread; worth its start-up time for a server, not for the one write of a
   * command.
   */
  writerThread?: boolean;
  /** Waits for a storage that is unreachable, and refuses requests in the meantime. */
  isServer?: boolean;
  /** False: no posts are scored, and no sentence encoder is started. */
  takesPosts?: boolean;
}

/**
 * Opens data folder, master key and store; does not listen or deliver yet.
 * @throws DataFolderError, SecretsKeyError, StoreOpenError
 */
export async function openRuntime(config: Config, options: RuntimeOptions = {}): Promise<Runtime> {
  const clock = systemClock;
  const random = systemRandom;
  const logger = options.logger ?? createLogger(config, clock);
  const { file, masterKey, olderKeys, keyProof, warnings } = openDataFolder(config, random);
  const newId = createIds(clock, random);
  const open = () =>
    openStore({
      ...{ file, databaseUrl: config.databaseUrl, clock, keyProof },
      writerThread: options.writerThread ?? false,
      onStorageChange: (change) => logStorageChange(logger, change, config),
    });
  const { isServer = false } = options;
  const store = isServer ? await openWhenReachable({ config, clock, newId, logger }, open) : await open();
  for (const warning of warnings) logger.warn(warning);
  const cursors = createCursors(masterKey, olderKeys);
  const { takesPosts = true } = options;
  const encoder = takesPosts ? await openEncoder(config.signalEncoder, logger) : null;
  return {
    config,
    clock,
    random,
    newId,
    logger,
    store,
    matchers: createMatchers(store),
    suggester: createSuggester(store, clock),
    learner: encoder === null ? null : createLearner({ store, clock, encoder }),
    intakeTally: createIntakeTally(),
    encoder,
    secretBox: createSecretBox(masterKey, random, olderKeys),
    cursors,
    feedbackLinks: createFeedbackLinks(cursors, config.baseUrl),
    seededRandom: createSeededRandom(masterKey),
    allowTargets: createAddressSet(config.webhookAllowTargets),
    lookup: createLookup(clock),
    close: async () => {
      await encoder?.close();
      await store.close();
    },
  };
}

/** A running server: site, API, dispatcher and poller on one runtime. */
export interface Server {
  /** The address that it listens on, e.g. `http://127.0.0.1:3000`. */
  url: string;
  /**
   * Stops accepting requests and claiming deliveries, waits for attempts in progress, and closes the runtime.
   * `reason` is logged, such as the signal received.
   */
  stop(reason?: string): Promise<void>;
}

/** How often to look for accepted jobs, and for erasures that another process left unfinished. */
const JOBS_EVERY_MS = 1_000;
const ERASURES_EVERY_MS = 15_000;
/** How often to look for profiles with new feedback to learn from. */
const LESSONS_EVERY_MS = 5_000;

/** Listens first, then delivers: a process that cannot have its port must not touch another's deliveries. */
export async function startServer(runtime: Runtime, content: SiteContent): Promise<Server> {
  const { config, logger } = runtime;
  await warnOfOthers(runtime);
  const tracing = await createTracing(runtime);
  const tracer = tracing?.tracer ?? null;
  const dispatcher = createDispatcher(
    { ...runtime, localAddress: config.webhookLocalAddress, log: logger, tracer },
    { lookup: runtime.lookup },
  );
  const { baseUrl } = config;
  const documents = createDocuments();
  const web = createWeb({
    ...runtime,
    documents,
    baseUrl,
    contact: config.sourceContact,
    keepHold: runtime.store.holdHost,
  });
  const sites = sitesWith(config.sourceSites);
  const poller = createPoller({
    ...runtime,
    baseUrl,
    web,
    documents,
    sites,
    log: logger,
  });
  runtime.store.onCommitted(({ due, endpoints, sources }) => {
    for (const id of endpoints) dispatcher.endpointChanged(id);
    dispatcher.nudge(due);
    if (sources) poller.wake();
  });
  const enrichment = openEnrichment(runtime);
  let expired = 0;
  const app = await buildApp({
    ...runtime,
    content,
    enrichment,
    reserve: dispatcher.reserve,
    sendTest: dispatcher.sendTest,
    dispatcherPulse: dispatcher.pulse,
    expiredCount: () => expired,
    tracer,
    refusalOf: createRefusals(runtime.clock, web),
    readDocument: (address, signal) =>
      web.read(address, { accept: 'application/json' }, { owner: '', signal, asked: 1 }),
    previewSource: createSourcePreviews({ ...runtime, baseUrl, web, documents, sites }),
  });
  const onError = (job: string, err: unknown) =>
    logger.warn({ err, job }, 'a job could not be continued; trying again');
  // Batches apart from the others: they take hours if enough posts wait for the encoder, and erasures must not wait.
  const batches = createPeriodic({
    clock: runtime.clock,
    jobs: onDuty(runtime, [
      {
        name: 'jobs',
        everyMs: JOBS_EVERY_MS,
        run: (isStopping) => runJobs({ ...runtime, baseUrl, reserve: dispatcher.reserve }, isStopping),
      },
    ]),
    onError,
  });
  const bulk = createPeriodic({
    clock: runtime.clock,
    jobs: onDuty(runtime, [
      {
        name: 'erasures',
        everyMs: ERASURES_EVERY_MS,
        run: (isStopping) => continueErasures(runtime, isStopping),
      },
      {
        name: 'lessons',
        everyMs: LESSONS_EVERY_MS,
        run: async (isStopping) => runtime.learner?.run(isStopping),
      },
    ]),
    onError,
  });
  const housekeeping = await createHousekeeping(runtime, (count) => {
    expired += count;
  });
  // Before anyone can request a run, which would then no longer be postponed.
  const brokenOff = await recoverSources(runtime);
  const url = await listen(app, config);
  housekeeping.start();
  batches.start();
  bulk.start();
  if (runtime.encoder !== null) void prepareKnownOffers(runtime.encoder);
  let waiting = 0;
  const begun = await beginWork(runtime, [
    async () => {
      waiting = await dispatcher.start();
      warnOfClock(runtime);
    },
    poller.start,
    async () =>
      logger.info(
        { ...descriptionOf(runtime), url, endpoints_waiting: waiting, sources_broken_off: brokenOff },
        'server started',
      ),
  ]);
  return {
    url,
    async stop(reason = 'stop') {
      const since = runtime.clock.monotonic();
      const { inFlight } = dispatcher.pulse();
      begun.stop();
      const stops = [
        () => app.close(),
        housekeeping.stop,
        batches.stop,
        bulk.stop,
        () => Promise.all([poller.stop(), documents.close()]),
        async () => enrichment?.close(),
        () => dispatcher.stop(DRAIN_MS),
      ];
      await Promise.all(stops.map((stop) => stop()));
      await tracing?.close();
      await runtime.close();
      const took = { took_ms: Math.round(runtime.clock.monotonic() - since) };
      const deliveries = { deliveries_in_flight: inFlight, deliveries_cut_off: dispatcher.pulse().inFlight };
      logger.info({ reason, ...took, ...deliveries }, 'server stopped');
      await new Promise<void>((resolve) => logger.flush(() => resolve()));
    },
  };
}

/**
 * Leases prevent two servers on one folder from sending twice, but each has limits, throttles and metrics of its own.
 */
async function warnOfOthers({ store, config: { dataDir, databaseUrl }, logger }: Runtime): Promise<void> {
  if (databaseUrl !== null) return;
  const others = await store.countOthers();
  if (others === 0) return;
  logger.warn(
    { others, data_dir: dataDir },
    'another server runs on this data folder; stop it: request limits and throttles apply to each server separately',
  );
}

/**
 * The number of runs interrupted by the death of a process. A lost connection is not fatal: the poller checks again.
 */
async function recoverSources({ store, clock }: Runtime): Promise<number> {
  try {
    return (await store.recoverSources({ own: false, now: clock.now() })).length;
  } catch (error) {
    if (storageFaultOf(error) === null) throw error;
    return 0;
  }
}

/** With several nodes, only one runs these jobs. */
function onDuty({ store }: Pick<Runtime, 'store'>, jobs: PeriodicJob[]): PeriodicJob[] {
  return jobs.map((job) => ({
    ...job,
    async run(isStopping) {
      if (await store.isOnDuty()) await job.run(isStopping);
    },
  }));
}

function warnOfClock({ store, logger }: Runtime): void {
  const { clockSkewMs } = store.pulse();
  if (clockSkewMs === null || Math.abs(clockSkewMs) <= MOST_SKEW_MS) return;
  logger.warn(
    { clock_skew_ms: clockSkewMs },
    "this machine's clock differs from the database server's: synchronize both, as throttles and leases go by it",
  );
}

/** OpenTelemetry's packages are loaded only if tracing is configured. */
async function createTracing({ config: { tracing }, logger, clock }: Runtime): Promise<Tracing | null> {
  if (tracing === null) return null;
  return (await import('./operation/tracing.ts')).startTracing(tracing, logger, clock);
}

/** The configured provider, or null. */
function openEnrichment(runtime: Runtime): Enrichment | null {
  const { config, logger: log } = runtime;
  const { enrichmentUrl: url, enrichmentDailyLimit: dailyLimit } = config;
  if (url === null) return null;
  const provider = createProvider({ ...runtime, url, dailyLimit, log });
  return createEnrichment({ ...runtime, baseUrl: config.baseUrl, provider, log });
}

/** Periodic jobs other than deliveries. The mail library is loaded only if a mail server is configured. */
async function createHousekeeping(
  { config, logger, store, clock, newId, feedbackLinks, secretBox }: Runtime,
  onExpired: (count: number) => void,
): Promise<Periodic> {
  const { smtpUrl, mailFrom, baseUrl } = config;
  const smtp = smtpUrl === null ? null : await import('./accounts/smtp.ts');
  const send = smtp?.createSmtpSender(smtpUrl ?? '', mailFrom ?? '', clock) ?? null;
  const deps = {
    ...{ store, clock, newId, baseUrl, feedbackLinks, secretBox },
    ...{ send, log: logger, onExpired },
  };
  const onError = (job: string, err: unknown) => {
    // A storage failure is logged once, below, instead of by every job.
    const level = storageFaultOf(err) === null ? 'error' : 'debug';
    logger[level]({ err, job }, 'housekeeping failed; trying again');
  };
  const lines = housekeepingJobs(deps).map((jobs) =>
    createPeriodic({ clock, jobs: onDuty({ store }, jobs), onError }),
  );
  return {
    start() {
      for (const line of lines) line.start();
    },
    async stop() {
      await Promise.all(lines.map((line) => line.stop()));
    },
  };
}

function driverOf({ databaseUrl }: Config): 'sqlite' | 'postgres' {
  return databaseUrl === null ? 'sqlite' : 'postgres';
}

/** Identifies the configuration of a start in the log. */
function descriptionOf({ config, store, encoder }: Runtime): Record<string, string | number> {
  return {
    version: PACKAGE.version,
    node: process.version,
    schema_version: store.pulse().schemaVersion,
    model_version: MODEL_VERSION,
    encoder: encoder === null ? 'off' : 'on',
    store: driverOf(config),
    data_dir: config.dataDir,
  };
}

const STORAGE_FAULTS = {
  sqlite: {
    full: 'the disk is full: nothing new is stored, and requests get 503; free up space under DATA_DIR',
    outage:
      'the database cannot be written (locked, read-only or failing disk): nothing new is stored, and requests get 503',
    damaged:
      'the database is damaged: requests that need the damaged part get 503; run "signalpost check", and restore a backup',
  },
  postgres: {
    full: "the PostgreSQL server's disk is full: nothing new is stored, and requests get 503; free up space there",
    outage:
      'the PostgreSQL server cannot be reached, or takes no changes: nothing new is stored, and requests get 503',
    damaged:
      'the PostgreSQL database is damaged: requests that need the damaged part get 503; run pg_amcheck, and restore a backup',
  },
};

function logStorageChange(logger: Logger, change: StorageChange, config: Config): void {
  const faults = STORAGE_FAULTS[driverOf(config)];
  if (change.state === 'damaged') logger.error({ fault: 'damaged', err: change.cause }, faults.damaged);
  else if (change.state === 'failing') {
    const { fault, reason } = change;
    logger.error(reason === null ? { fault } : { fault, reason }, faults[fault]);
  } else logger.error({ lasted_ms: Math.round(change.lastedMs) }, 'the database is writable again');
}

/** One line of JSON per event, on stdout. */
function createLogger(config: Config, clock: Clock): Logger {
  return pino(
    { level: config.logLevel, base: null, timestamp: createTimestamp(clock) },
    createLogDestination(clock),
  );
}

/**
 * Under load, many lines share a millisecond; formatting the time for each took 3 % of the cost of a small response.
 */
function createTimestamp(clock: Clock): () => string {
  let lastMs = Number.NaN;
  let text = '';
  return () => {
    const ms = clock.now();
    if (ms !== lastMs) {
      lastMs = ms;
      text = `,"time":"${toIso(ms)}"`;
    }
    return text;
  };
}
