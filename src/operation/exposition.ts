import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Distribution } from '../lib/distribution.ts';

type Labels = Record<string, string | number>;
/** A value of a series, with the labels that tell it from the others of its metric. */
export type Sample<V> = [labels: Labels, value: V];

export interface MetricName {
  name: string;
  help: string;
  labels?: readonly string[];
}

/** A metric that is read when somebody asks: what is counted elsewhere in plain numbers is only shown here. */
export interface Exposition {
  registry: Registry;
  gauge(metric: MetricName, read: () => Sample<number>[]): void;
  counter(metric: MetricName, read: () => Sample<number>[]): void;
  histogram(metric: MetricName, read: () => Sample<Distribution>[]): void;
}

export function createExposition(): Exposition {
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
      // The library keeps what it was told value by value. The registry asks a metric for its values by this name.
      const { name, help } = metric;
      const getForPromString = async () => ({
        ...{ name, help, type: 'histogram' },
        values: read().flatMap(([labels, value]) => seriesOf(name, labels, value)),
      });
      registry.registerMetric(Object.assign(histogram, { getForPromString }));
    },
  };
}

/** Buckets are cumulative: each holds what those below it hold. */
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
