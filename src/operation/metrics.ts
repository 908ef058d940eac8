import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DispatcherPulse } from '../dispatcher/dispatcher.ts';
import type { LoadGate } from '../http/load.ts';
import type { RequestTally } from '../http/request-log.ts';
import type { Clock } from '../lib/clock.ts';
import type { Distribution } from '../lib/distribution.ts';
import { PACKAGE } from '../lib/package.ts';
import type { Encoder } from '../signals/encoder/encoder.ts';
import type { EncoderFigures } from '../signals/encoder/encoder-queue.ts';
import type { IntakeTally } from '../signals/intake-tally.ts';
import type { StoreCounts, StorePulse } from '../store/figures.ts';
import type { OpenedStore } from '../store/store.ts';

/** The sources of the metrics. */
export interface MetricsDeps {
  clock: Clock;
  store: Pick<OpenedStore, 'countAll' | 'pulse'>;
  requests: RequestTally;
  /** Admitted and refused requests. */
  load: Pick<LoadGate, 'inFlight' | 'refused'>;
  /** The state of the dispatcher; null if none runs. */
  dispatcher: (() => DispatcherPulse) | null;
  /** Null or omitted: posts are scored by words alone. */
  encoder?: Pick<Encoder, 'figures'> | null;
  intakeTally?: IntakeTally;
  /** Dead letters expired since the process started. */
  expired: () => number;
}

/** All metrics in the Prometheus format. */
export interface Metrics {
  contentType: string;
  /** The whole exposition. Concurrent scrapes share one. */
  text(): Promise<string>;
}

/** A source that has been due for this long is late: the poller checks every 30 s. */
const LATE_MS = 5 * 60_000;

interface MetricsSnapshot {
  now: number;
  counts: StoreCounts;
  pulse: StorePulse;
  dispatcher: DispatcherPulse | null;
  throttled: number;
}

/**
 * The names are a contract: alerts and dashboards depend on them. No label is a tenant, an endpoint or a caller: the
 * number of series depends on the routes only.
 */
export function createMetrics(deps: MetricsDeps): Metrics {
  const { clock, store } = deps;
  const exposition = createExposition();
  let snapshot: MetricsSnapshot | null = null;
  let underWay: Promise<string> | null = null;
  const now = (): MetricsSnapshot => {
    if (snapshot === null) throw new Error('metrics are read through text()');
    return snapshot;
  };

  addRequests(exposition, deps.requests);
  addLoad(exposition, deps);
  addIntake(exposition, deps);
  addDeliveries(exposition, now, deps.expired);
  addStore(exposition, now);
  addRest(exposition, now);
  collectDefaultMetrics({ register: exposition.registry });

  async function read(): Promise<string> {
    const at = clock.now();
    const counts = await store.countAll(at - LATE_MS);
    const throttled = (await deps.dispatcher?.().throttled()) ?? 0;
    const dispatcher = deps.dispatcher?.() ?? null;
    snapshot = { now: at, counts, pulse: store.pulse(), dispatcher, throttled };
    return exposition.registry.metrics();
  }

  return {
    contentType: exposition.registry.contentType,
    text() {
      underWay ??= read().finally(() => {
        underWay = null;
      });
      return underWay;
    },
  };
}

function addRequests({ histogram, counter }: Exposition, requests: RequestTally): void {
  const labels = ['route', 'method', 'status'];
  counter({ name: 'signalpost_http_requests_total', help: 'Answered requests.', labels }, () =>
    requests
      .series()
      .map(({ seconds, ...series }) => [series, seconds.counts.reduce((sum, count) => sum + count, 0)]),
  );
  histogram(
    { name: 'signalpost_http_request_duration_seconds', help: 'From request to response.', labels },
    () => requests.series().map(({ seconds, ...series }) => [series, seconds]),
  );
}

function addLoad({ gauge, counter }: Exposition, { load, encoder }: MetricsDeps): void {
  gauge(
    { name: 'signalpost_http_requests_in_flight', help: 'Requests of /v1 and the dashboard in progress.' },
    () => [[{}, load.inFlight]],
  );
  counter(
    {
      name: 'signalpost_http_requests_shed_total',
      help: 'Requests refused with 503, by scarce resource.',
      labels: ['reason'],
    },
    () => [
      ...Object.entries(load.refused).map(([reason, n]): Sample<number> => [{ reason }, n]),
      [{ reason: 'encoder' }, encoder?.figures.refused ?? 0],
    ],
  );
}

function addIntake({ gauge, counter, histogram }: Exposition, { encoder, intakeTally }: MetricsDeps): void {
  counter(
    {
      name: 'signalpost_signals_total',
      help: 'Signals stored, by class and by origin of the post: single request, batch or source.',
      labels: ['classification', 'via'],
    },
    () => (intakeTally?.signals() ?? []).map(({ count, ...labels }) => [labels, count]),
  );
  counter({ name: 'signalpost_posts_encoded_total', help: 'Posts encoded by the sentence encoder.' }, () => [
    [{}, intakeTally?.encoded ?? 0],
  ]);
  gauge({ name: 'signalpost_encoder_queue_length', help: 'Texts waiting for the sentence encoder.' }, () => [
    [{}, encoder?.figures.waiting ?? 0],
  ]);
  const times = (read: (figures: EncoderFigures) => Distribution) => (): Sample<Distribution>[] =>
    encoder ? [[{}, read(encoder.figures)]] : [];
  histogram(
    { name: 'signalpost_encoder_wait_seconds', help: 'How long texts waited for the sentence encoder.' },
    times(({ waitSeconds }) => waitSeconds),
  );
  histogram(
    { name: 'signalpost_encoder_duration_seconds', help: 'How long the sentence encoder took for a text.' },
    times(({ encodeSeconds }) => encodeSeconds),
  );
}

function addDeliveries(to: Exposition, now: () => MetricsSnapshot, expired: () => number): void {
  const { gauge, counter, histogram } = to;
  const pulse = () => now().dispatcher;
  counter(
    {
      name: 'signalpost_deliveries_total',
      help: 'Deliveries by outcome of an attempt (delivered, retrying, dead, discarded), too large to be sent (rejected), or expired as dead letters.',
      labels: ['outcome'],
    },
    () => [
      ...Object.entries(pulse()?.tally.outcomes ?? {}).map(
        ([outcome, n]): Sample<number> => [{ outcome }, n],
      ),
      [{ outcome: 'expired' }, expired()],
    ],
  );
  counter(
    {
      name: 'signalpost_delivery_attempts_total',
      help: 'Attempts by error code; none: success.',
      labels: ['error'],
    },
    () => [...(pulse()?.tally.results ?? [])].map(([error, n]) => [{ error }, n]),
  );
  histogram({ name: 'signalpost_delivery_attempt_duration_seconds', help: 'How long attempts took.' }, () => {
    const seconds = pulse()?.tally.seconds;
    return seconds === undefined ? [] : [[{}, seconds]];
  });
  const states = () => Object.entries(now().counts.waiting);
  gauge(
    {
      name: 'signalpost_deliveries_waiting',
      help: 'Waiting deliveries: pending (first attempt), retrying, held (endpoint paused).',
      labels: ['state'],
    },
    () => states().map(([state, { count }]) => [{ state }, count]),
  );
  gauge(
    {
      name: 'signalpost_delivery_oldest_due_seconds',
      help: 'How long the oldest due delivery has been due; 0 if none is.',
      labels: ['state'],
    },
    () =>
      states().map(([state, { oldestDueAt }]) => [
        { state },
        Math.max(0, now().now - (oldestDueAt ?? now().now)) / 1_000,
      ]),
  );
  const one = (name: string, help: string, value: () => number) =>
    gauge({ name, help }, () => [[{}, value()]]);
  one('signalpost_deliveries_in_flight', 'Requests to receivers in progress.', () => pulse()?.inFlight ?? 0);
  one(
    'signalpost_deliveries_uncommitted',
    'Attempts whose outcome has not been stored yet.',
    () => pulse()?.uncommitted ?? 0,
  );
  one(
    'signalpost_endpoints_throttled',
    'Endpoints whose deliveries wait only for the rate limit.',
    () => now().throttled,
  );
  one('signalpost_dispatcher_stuck', '1: deliveries are due, and none is sent.', () =>
    pulse()?.stuck == null ? 0 : 1,
  );
  one('signalpost_endpoints_paused', 'Paused endpoints.', () => now().counts.endpointsPaused);
  one('signalpost_dead_letters', 'Deliveries in the dead-letter queues.', () => now().counts.deadLetters);
}

function addStore({ gauge, counter, histogram }: Exposition, now: () => MetricsSnapshot): void {
  const pulse = () => now().pulse;
  histogram(
    {
      name: 'signalpost_store_commit_duration_seconds',
      help: 'How long it took to store batches of changes.',
    },
    () => [[{}, pulse().commitSeconds]],
  );
  histogram({ name: 'signalpost_store_commit_operations', help: 'Changes per commit.' }, () => [
    [{}, pulse().commitOperations],
  ]);
  counter(
    {
      name: 'signalpost_store_refused_total',
      help: 'Changes that the storage rejected: full, locked or failing.',
    },
    () => [[{}, pulse().refused]],
  );
  const one = (name: string, help: string, value: () => number | null) =>
    gauge({ name, help }, () => {
      const found = value();
      return found === null ? [] : [[{}, found]];
    });
  one(
    'signalpost_store_commit_under_way_seconds',
    'Duration of the commit in progress so far; 0 if there is none.',
    () => pulse().underWaySeconds,
  );
  one('signalpost_store_queue_length', 'Changes waiting to be stored.', () => pulse().queueLength);
  one('signalpost_store_wal_bytes', 'Size of the write-ahead log.', () => pulse().walBytes);
  one('signalpost_store_database_bytes', 'Size of the database.', () => pulse().databaseBytes);
  one('signalpost_store_free_bytes', 'Free disk space at the database.', () => pulse().freeBytes);
}

function addRest({ gauge }: Exposition, now: () => MetricsSnapshot): void {
  const { version } = PACKAGE;
  gauge({ name: 'signalpost_build_info', help: 'Which release runs.', labels: ['version'] }, () => [
    [{ version }, 1],
  ]);
  const one = (name: string, help: string, value: () => number) =>
    gauge({ name, help }, () => [[{}, value()]]);
  one('signalpost_mail_waiting', 'Account mail not sent yet.', () => now().counts.mailWaiting);
  one(
    'signalpost_sources_late',
    'Active sources that have been due for five minutes.',
    () => now().counts.sourcesLate,
  );
  one(
    'signalpost_sources_failing',
    'Active sources whose last run failed.',
    () => now().counts.sourcesFailing,
  );
}

type Labels = Record<string, string | number>;
/** A value of a series, with the labels that distinguish it from others of its metric. */
type Sample<V> = [labels: Labels, value: V];

interface MetricName {
  name: string;
  help: string;
  labels?: readonly string[];
}

/** A metric that is read on scrape: counted elsewhere as plain numbers, exposed here. */
interface Exposition {
  registry: Registry;
  gauge(metric: MetricName, read: () => Sample<number>[]): void;
  counter(metric: MetricName, read: () => Sample<number>[]): void;
  histogram(metric: MetricName, read: () => Sample<Distribution>[]): void;
}

function createExposition(): Exposition {
  const registry = new Registry();
  const base = ({ name, help, labels = [] }: MetricName) => ({ name, help, labelNames: [...labels] });
  return {
    registry,
    gauge(metric, read) {
      const gauge: Gauge = new Gauge({ ...base(metric), registers: [registry], collect });
      function collect() {
        gauge.reset();
        for (const [labels, value] of read()) gauge.set(labels, value);
      }
    },
    counter(metric, read) {
      const counter: Counter = new Counter({ ...base(metric), registers: [registry], collect });
      function collect() {
        counter.reset();
        for (const [labels, value] of read()) counter.inc(labels, value);
      }
    },
    histogram(metric, read) {
      const histogram = new Histogram({ ...base(metric), registers: [] });
      // prom-client stores each value it is given; the registry reads a metric's values through this method.
      const { name, help } = metric;
      const getForPromString = async () => ({
        ...{ name, help, type: 'histogram' },
        values: read().flatMap(([labels, value]) => seriesOf(name, labels, value)),
      });
      registry.registerMetric(Object.assign(histogram, { getForPromString }));
    },
  };
}

/** Buckets are cumulative: each includes all lower ones. */
function seriesOf(name: string, labels: Labels, { bounds, counts, sum }: Distribution) {
  let below = 0;
  const buckets = counts.map((count, at) => {
    below += count;
    const le = bounds[at] ?? '+Inf';
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: below },
  ];
}
