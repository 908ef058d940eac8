import { DAY_MS } from '../lib/clock.ts';
import type { Endpoint } from '../model/webhook.ts';
import { type AttemptSummary, summaryOf } from '../rules/latency.ts';
import type { AttemptTally } from '../store/delivery-log-store.ts';
import { endpointResource } from '../webhooks/endpoints.ts';
import type { DashboardParts } from './parts.ts';

export const DAYS_SHOWN = 30;

/** What stands for the address of an endpoint that has none. */
const FEED = 'Pull feed';

/** An endpoint as screens show it: always with something to call it by. */
export function shownEndpoint(endpoint: Endpoint) {
  const { url, ...resource } = endpointResource(endpoint);
  return { ...resource, url: url ?? FEED };
}

/** How attempts to endpoints went in the last 24 hours and 30 days, by the endpoints' ids; one without any is left out. */
export async function attemptsOf(
  { store, clock }: Pick<DashboardParts, 'store' | 'clock'>,
  tenantId: string,
  endpointId: string | null,
): Promise<Map<string, { lately: AttemptSummary; month: AttemptSummary }>> {
  const now = clock.now();
  const [lately, month] = await Promise.all(
    [now - DAY_MS, firstDay(now)].map((since) => store.tallyAttempts(tenantId, { endpointId, since })),
  );
  const ids = new Set(month?.map((each) => each.endpointId));
  const of = (tally: readonly AttemptTally[] = [], id: string) =>
    summaryOf(tally.filter((each) => each.endpointId === id));
  return new Map([...ids].map((id) => [id, { lately: of(lately, id), month: of(month, id) }]));
}

/** The first of the thirty days that are shown, today among them; UTC. */
export function firstDay(now: number): number {
  return (Math.floor(now / DAY_MS) - (DAYS_SHOWN - 1)) * DAY_MS;
}

/** "99.4%, p95 about 120 ms"; no share is rounded up to all. Empty where there were no attempts. */
export function attemptWords({ successRate, p95 }: AttemptSummary): string {
  if (successRate === null) return '';
  const rate = `${Math.floor(successRate * 1_000) / 10}%`;
  if (p95 === null) return rate;
  const rounded = Number(p95.toPrecision(2));
  return `${rate}, p95 about ${rounded < 1_000 ? `${rounded} ms` : `${rounded / 1_000} s`}`;
}

/** The host of an endpoint's address. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
