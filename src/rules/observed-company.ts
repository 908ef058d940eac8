import { HOUR_MS } from '../lib/clock.ts';
import type { Company, ObservedCompany } from '../model/company.ts';
import { NO_FACTS, observeFacts } from '../model/company-facts.ts';

/** How exact the order by activity is: a burst of signals moves a company once. */
const ACTIVITY_GRAIN_MS = HOUR_MS;

/** The hour in which a signal was active. */
export function activityOf(timestamp: number): number {
  return timestamp - (timestamp % ACTIVITY_GRAIN_MS);
}

/** The company as a signal leaves it; null where it says nothing new of a known one, as most do. */
export function observeCompany(
  known: Company | null,
  { id, company }: ObservedCompany,
  signal: { id: string; tenantId: string; timestamp: number },
): Company | null {
  const { id: signalId, tenantId, timestamp } = signal;
  const facts = observeFacts(known?.facts ?? NO_FACTS, company, { signalId, at: timestamp });
  if (known === null) {
    const times = { createdAt: timestamp, updatedAt: timestamp };
    return { id, tenantId, domain: company.domain, facts, ...times, version: 1 };
  }
  return facts === known.facts ? null : { ...known, facts, updatedAt: timestamp, version: known.version + 1 };
}
